"""Are results right, however hard the numbers are?"""

"""The library: functions over tables in memory and on disk, and scikit-learn estimators."""

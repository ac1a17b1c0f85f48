"""How surely each row belongs to the inliers."""

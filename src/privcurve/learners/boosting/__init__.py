"""Train gradient boosting without privacy, or on private synthetic records (MST, AIM)."""

"""Forests of decision trees: XGBoost, LightGBM, scikit-learn and whatever Treelite reads."""

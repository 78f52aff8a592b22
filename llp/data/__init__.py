"""Instance tables, bags, folds and minibatches."""

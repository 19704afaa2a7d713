"""Ops on order and frequency: sorting, quantiles, histograms, sets, covariance."""

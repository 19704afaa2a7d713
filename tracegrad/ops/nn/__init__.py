"""Ops of neural networks: convolution and pooling of images."""

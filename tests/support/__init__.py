"""Helpers that several tests share: fits of noise, small worlds, brute force over data sets, attackers."""

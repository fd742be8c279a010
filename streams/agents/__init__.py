"""Thin Faust shells around the rules: `detect` and `roll_up`. Nobody else imports Faust."""

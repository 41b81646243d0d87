"""How a model is made: the steps of one fit, in the order they run; updates; forecasts."""

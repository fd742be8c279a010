"""What is done to the world: activities, one package per power or duty, and the interlock before every irreversible act."""

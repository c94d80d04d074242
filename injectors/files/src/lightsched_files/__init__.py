"""How do files become events? A directory is watched; each file that is complete is injected, once."""

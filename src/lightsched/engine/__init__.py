"""What happens next in a partition? Pure: (view, inputs, now) → step. Start reading at `lightsched.engine.engine`."""

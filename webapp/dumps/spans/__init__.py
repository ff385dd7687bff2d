"""What OpenTelemetry spans say of requests and answers: attributes in, turns out."""

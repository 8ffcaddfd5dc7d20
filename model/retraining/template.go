package retraining

import _ "embed"

// Template is a commented configuration that works as it is.
//
//go:embed template.yaml
var Template []byte

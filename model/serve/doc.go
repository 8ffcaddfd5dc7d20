// Package serve answers requests for samples over HTTP: of one trained model, or of the
// champions of a registry, which it follows.
//
//	request ─► gate (how many at once) ─► read (formulas → equation) ─► queue (batches)
//	        ─► engine (samples) ─► certificate ─► JSON, .npy
//
// A model is ready when its table or its backend is. A new champion is loaded and made ready
// beside the old one, and then takes its place; requests under way end with the model that they
// began with. docs/serve.md has the protocol.
package serve

package machine

// States of a run, as Status.State has them.
const (
	StateIdle       = "idle"       // no run was submitted
	StateScanning   = "scanning"   // the coordinator scans for shards and checkpoints
	StateGenerating = "generating" // shards are missing
	StateGenerated  = "generated"  // all shards exist, and the run was submitted until then
	StateWaiting    = "waiting"    // no worker is prepared to train
	StateForming    = "forming"    // a generation is being formed
	StateTraining   = "training"   // a generation steps
	StateDone       = "done"       // the last checkpoint is stored
	StateFailed     = "failed"     // Status.Failure says why
	StateStopping   = "stopping"   // the coordinator ends
)

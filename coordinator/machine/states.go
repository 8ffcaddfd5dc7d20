package machine

// States of a run, as Status.State has them.
const (
	StateIdle       = "idle"       // no run was submitted
	StateScanning   = "scanning"   // what exists of the run is being found out
	StateGenerating = "generating" // shards are missing
	StateGenerated  = "generated"  // all shards exist, which is all that was asked for
	StateWaiting    = "waiting"    // no worker is prepared to train
	StateForming    = "forming"    // a generation is being formed
	StateTraining   = "training"   // a generation steps
	StateDone       = "done"       // the last checkpoint is stored
	StateFailed     = "failed"     // see Failure
	StateStopping   = "stopping"   // the coordinator ends
)

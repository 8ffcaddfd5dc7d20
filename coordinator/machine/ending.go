package machine

// Ending is a kind of reason for which generations end. There are few, so that they can be
// counted; the decisions have each reason in a sentence.
type Ending string

// The kinds.
const (
	EndJoined     Ending = "joined"     // prepared workers come in
	EndLeft       Ending = "left"       // a member drains, or was told to leave
	EndLost       Ending = "lost"       // a member's session broke
	EndFailed     Ending = "failed"     // a member cannot continue the run
	EndBroken     Ending = "broken"     // a member complains, or none is ready in time
	EndCut        Ending = "cut"        // a link between two members carries nothing
	EndBalanced   Ending = "balanced"   // shards move to faster workers
	EndCheckpoint Ending = "checkpoint" // the last checkpoint was not stored
	EndSuperseded Ending = "superseded" // a newer state turned up
	EndSettings   Ending = "settings"   // the run is submitted again with other settings
	EndRun        Ending = "run"        // the run is replaced, withdrawn or failed
)

// Endings has all kinds.
var Endings = []Ending{EndJoined, EndLeft, EndLost, EndFailed, EndBroken, EndCut, EndBalanced, EndCheckpoint, EndSuperseded, EndSettings, EndRun}

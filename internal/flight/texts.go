package flight

// Texts by which package explain knows what a record is about. The dumps of older versions have
// them, too.
const (
	// What a rank does, of kind Doing.
	PlaceRank   = "rank"
	DoesConnect = "takes the state and connects to the other ranks"
	DoesWait    = "waits for the coordinator"
	DoesRead    = "waits for its batch"
	DoesCompute = "computes on its device"
	DoesUpdate  = "updates the state on its device"

	// Of kind Slow: the beginnings of the texts.
	SlowDevice = "the device"
	SlowBatch  = "its batch, for which it reads shards"
	SlowWrite  = "writing "

	LinkWorks   = "it works"                                      // of kind Checked
	KernelEnded = "the kernel has ended a process of this cgroup" // of kind Memory: the beginning
)

// Parts of texts that the machine of the coordinator, the protocol of workers and the trainer
// write, which do not know this package. Tests of packages coordinator and worker compare them.
const (
	SaysSilent            = "silent"           // of kind Lost: the beginning
	SaysReopened          = "the same process" // of kind Lost: its worker opened another session
	SaysLeft              = "left the cluster" // of kinds Left and Ends
	SaysTransferred       = "another run"      // of kind Left
	SaysSilentCoordinator = "the coordinator is silent"
	SaysDiverged          = "training diverged"
	SaysAborted           = " aborted: " // an error that comes from the end of a generation
)

// DoingText is the text of a record of kind Doing.
func DoingText(place, what string) string { return place + ": " + what }

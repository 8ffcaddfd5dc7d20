package explain

// A rule finds one kind of fault in an incident.
type rule func(*inquiry) []finding

// rules are ordered from the most specific to the least: a process that was ended for want of
// memory is also one that ended.
var rules = []rule{
	outOfMemory,
	diverged,
	fullDisk,
	slowDisk,
	stoodStill,
	stoppedByTheSystem,
	killedCoordinator,
	stuckDevice,
	stuckStore,
	closedPort,
	cutLink,
	ownError,
	endedProcess,
	silentWorker,
	silentCoordinator,
	jumpedClock,
	scarceMemory,
}

// Causes, as the JSON names them.
const (
	causeMemory      = "out of memory"
	causeDiverged    = "loss not finite"
	causeFullDisk    = "disk full"
	causeSlowDisk    = "disk slow"
	causePaused      = "process stood still"
	causeMachine     = "machine stood still"
	causeStopped     = "process stopped"
	causeKilled      = "coordinator killed"
	causeStore       = "shard store stuck"
	causeDevice      = "device stuck"
	causePort        = "port closed"
	causeLink        = "link cut"
	causeError       = "error"
	causeEnded       = "process ended"
	causeSilent      = "process silent"
	causeCoordinator = "coordinator silent"
	causeClock       = "clock jumped"
	causeScarce      = "memory scarce"
)

package wire

import (
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// RingLink is the method of package allreduce, which workers serve beside Peer.
const RingLink = "/ergoflow.allreduce.v1.Ring/Link"

// Roles says who may call what. A test compares it with the services. In plain text, while a
// cluster changes from that, a process may do what a worker does to train, and nothing whose
// effect would outlive the change.
var Roles = secure.Table{
	Control_Session_FullMethodName:        {trust.Worker, trust.Plaintext},
	Control_GossipKeys_FullMethodName:     {trust.Worker},
	Control_SaveFlight_FullMethodName:     {trust.Worker},
	Control_SaveCheckpoint_FullMethodName: {trust.Worker, trust.Plaintext},
	Control_LoadCheckpoint_FullMethodName: {trust.Worker, trust.Operator, trust.Viewer, trust.Plaintext},

	Control_Status_FullMethodName:    {trust.Operator, trust.Viewer},
	Control_Runs_FullMethodName:      {trust.Operator, trust.Viewer},
	Control_Events_FullMethodName:    {trust.Operator, trust.Viewer},
	Control_Schedules_FullMethodName: {trust.Operator, trust.Viewer},
	Control_Snapshot_FullMethodName:  {trust.Operator, trust.Viewer},
	Control_Tokens_FullMethodName:    {trust.Operator, trust.Viewer},
	Control_Flights_FullMethodName:   {trust.Operator, trust.Viewer},

	Control_Submit_FullMethodName:         {trust.Operator},
	Control_SaveStart_FullMethodName:      {trust.Operator},
	Control_ChangeRun_FullMethodName:      {trust.Operator},
	Control_AddSchedule_FullMethodName:    {trust.Operator},
	Control_ChangeSchedule_FullMethodName: {trust.Operator},
	Control_CreateToken_FullMethodName:    {trust.Operator},
	Control_RevokeToken_FullMethodName:    {trust.Operator},
	Control_RotateGossip_FullMethodName:   {trust.Operator},

	Control_Renew_FullMethodName:       trust.Roles(), // each for itself
	Control_Authorities_FullMethodName: trust.Roles(),

	Coordinators_Link_FullMethodName:            {trust.Coordinator},
	Coordinators_Introduce_FullMethodName:       {trust.Coordinator},
	Coordinators_Checkpoints_FullMethodName:     {trust.Coordinator},
	Coordinators_StoreCheckpoint_FullMethodName: {trust.Coordinator},
	Coordinators_ReadCheckpoint_FullMethodName:  {trust.Coordinator},
	Coordinators_List_FullMethodName:            {trust.Operator, trust.Viewer},
	Coordinators_Change_FullMethodName:          {trust.Operator},

	Join_Admit_FullMethodName:     {}, // by its token
	Join_Introduce_FullMethodName: trust.Roles(),

	RingLink:                   {trust.Worker, trust.Plaintext},
	Peer_State_FullMethodName:  {trust.Worker, trust.Plaintext},
	Peer_Follow_FullMethodName: {trust.Worker, trust.Plaintext},
	Peer_Reach_FullMethodName:  {trust.Worker, trust.Plaintext},
	Peer_Shard_FullMethodName:  {trust.Worker, trust.Plaintext},
	Peer_Burst_FullMethodName:  {trust.Worker, trust.Plaintext},
}

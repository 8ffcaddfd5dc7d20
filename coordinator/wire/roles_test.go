package wire

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// The table has every method of every service, and no other.
func TestRoles(t *testing.T) {
	methods := []string{RingLink}
	for _, s := range []grpc.ServiceDesc{Control_ServiceDesc, Coordinators_ServiceDesc, Join_ServiceDesc, Peer_ServiceDesc} {
		for _, m := range s.Methods {
			methods = append(methods, "/"+s.ServiceName+"/"+m.MethodName)
		}
		for _, m := range s.Streams {
			methods = append(methods, "/"+s.ServiceName+"/"+m.StreamName)
		}
	}
	slices.Sort(methods)
	if listed := slices.Sorted(maps.Keys(Roles)); !slices.Equal(methods, listed) {
		t.Errorf("the services have\n%q\nand the table has\n%q", methods, listed)
	}
	for method, roles := range Roles {
		if open := len(roles) == 0; open != (method == Join_Admit_FullMethodName) {
			t.Errorf("%s: %v", method, roles)
		}
	}
}

// A viewer changes nothing, and a worker reads nothing of people.
func TestRolesAreLeast(t *testing.T) {
	for role, want := range map[trust.Role][]string{
		trust.Viewer: {
			Control_Authorities_FullMethodName, Control_Events_FullMethodName, Control_Flights_FullMethodName, Control_LoadCheckpoint_FullMethodName, Control_Renew_FullMethodName, Control_Runs_FullMethodName, Control_Schedules_FullMethodName,
			Control_Snapshot_FullMethodName, Control_Status_FullMethodName, Control_Tokens_FullMethodName, Coordinators_List_FullMethodName, Join_Introduce_FullMethodName,
		},
		trust.Worker: {
			Control_Authorities_FullMethodName, Control_GossipKeys_FullMethodName, Control_LoadCheckpoint_FullMethodName, Control_Renew_FullMethodName,
			Control_SaveCheckpoint_FullMethodName, Control_SaveFlight_FullMethodName, Control_Session_FullMethodName,
			Join_Introduce_FullMethodName, Peer_Burst_FullMethodName, Peer_Follow_FullMethodName, Peer_Reach_FullMethodName, Peer_Shard_FullMethodName, Peer_State_FullMethodName, RingLink,
		},
	} {
		var may []string
		for name, roles := range Roles {
			if slices.Contains(roles, role) {
				may = append(may, name)
			}
		}
		slices.Sort(may)
		if slices.Sort(want); !slices.Equal(may, want) {
			t.Errorf("a %s may call %q, want %q", role, may, want)
		}
	}
}

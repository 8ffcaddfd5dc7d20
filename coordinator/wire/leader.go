package wire

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Of errdetails.ErrorInfo, in the error of a coordinator that does not lead.
const (
	errorDomain    = "ergoflow"
	notLeading     = "NOT_LEADING"
	leaderMetadata = "leader"
)

// NotLeading is the error of a coordinator that does not lead: nothing of the call was done.
// The leader is the control address of the one that does, or empty where it knows none.
func NotLeading(leader string) error {
	said := "this coordinator does not lead, and knows none that does"
	if leader != "" {
		said = "this coordinator follows that of " + leader
	}
	s := status.New(codes.Unavailable, said)
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Domain: errorDomain, Reason: notLeading, Metadata: map[string]string{leaderMetadata: leader}})
	if err != nil {
		return s.Err()
	}
	return detailed.Err()
}

// Leader reports whether an error is NotLeading, and the address in it.
func Leader(err error) (leader string, notLeader bool) {
	s, ok := status.FromError(err)
	if !ok {
		return "", false
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain && info.GetReason() == notLeading {
			return info.GetMetadata()[leaderMetadata], true
		}
	}
	return "", false
}

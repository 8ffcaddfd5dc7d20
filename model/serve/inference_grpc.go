package serve

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/model/serve/oip"
)

// inferenceGRPC is the gRPC side of the Open Inference Protocol.
type inferenceGRPC struct {
	oip.UnimplementedGRPCInferenceServiceServer
	s *Server
}

// newGRPC is the gRPC server, whose requests come through the HTTP server's port.
func (s *Server) newGRPC() *grpc.Server {
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(int(s.config.MaxBody)), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			open := strings.HasSuffix(info.FullMethod, "/ServerLive") || strings.HasSuffix(info.FullMethod, "/ServerReady")
			if open {
				return next(ctx, request)
			}
			md, _ := metadata.FromIncomingContext(ctx)
			if p := s.admits(strings.Join(md.Get("authorization"), ","), connectionOf(ctx)); p != nil {
				return nil, s.refuseCall(ctx, p)
			}
			return next(ctx, request)
		}))
	oip.RegisterGRPCInferenceServiceServer(server, &inferenceGRPC{s: s})
	return server
}

// connectionOf is the TLS connection of a call; nil for plain text.
func connectionOf(ctx context.Context) *tls.ConnectionState {
	if client, ok := peer.FromContext(ctx); ok {
		if secure, ok := client.AuthInfo.(credentials.TLSInfo); ok {
			return &secure.State
		}
	}
	return nil
}

// refuseCall is refuse for gRPC.
func (s *Server) refuseCall(ctx context.Context, p *Problem) error {
	from := "unknown"
	if client, ok := peer.FromContext(ctx); ok && client.Addr != nil {
		from = client.Addr.String()
	}
	code := codes.Unauthenticated
	switch p = s.refuse(from, p); p.Status {
	case http.StatusTooManyRequests:
		code = codes.ResourceExhausted
	case http.StatusForbidden:
		code = codes.PermissionDenied
	}
	return status.Error(code, p.sentence())
}

// isGRPC reports whether a request is one of gRPC.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// ServerLive implements the protocol.
func (g *inferenceGRPC) ServerLive(context.Context, *oip.ServerLiveRequest) (*oip.ServerLiveResponse, error) {
	return &oip.ServerLiveResponse{Live: true}, nil
}

// ServerReady implements the protocol.
func (g *inferenceGRPC) ServerReady(context.Context, *oip.ServerReadyRequest) (*oip.ServerReadyResponse, error) {
	return &oip.ServerReadyResponse{Ready: g.s.isReady()}, nil
}

// ServerMetadata implements the protocol.
func (g *inferenceGRPC) ServerMetadata(context.Context, *oip.ServerMetadataRequest) (*oip.ServerMetadataResponse, error) {
	return &oip.ServerMetadataResponse{Name: "ergoflow", Version: g.s.config.Build, Extensions: extensions}, nil
}

// ModelReady implements the protocol.
func (g *inferenceGRPC) ModelReady(_ context.Context, in *oip.ModelReadyRequest) (*oip.ModelReadyResponse, error) {
	_, leave, err := g.s.models.get(reference(in.GetName(), in.GetVersion()))
	if err != nil {
		return &oip.ModelReadyResponse{}, nil //nolint:nilerr // a model that is not there is not ready
	}
	leave()
	return &oip.ModelReadyResponse{Ready: true}, nil
}

func reference(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}

// ModelMetadata implements the protocol.
func (g *inferenceGRPC) ModelMetadata(_ context.Context, in *oip.ModelMetadataRequest) (*oip.ModelMetadataResponse, error) {
	m, leave, err := g.s.models.get(reference(in.GetName(), in.GetVersion()))
	if err != nil {
		return nil, grpcError(err)
	}
	defer leave()
	inputs, outputs := m.tensors()
	out := &oip.ModelMetadataResponse{Name: m.Name, Versions: []string{m.Version}, Platform: "ergoflow"}
	for _, t := range inputs {
		out.Inputs = append(out.Inputs, &oip.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
	}
	for _, t := range outputs {
		out.Outputs = append(out.Outputs, &oip.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
	}
	return out, nil
}

// ModelInfer implements the protocol.
func (g *inferenceGRPC) ModelInfer(ctx context.Context, in *oip.ModelInferRequest) (*oip.ModelInferResponse, error) {
	request := inference{model: in.GetModelName(), version: in.GetModelVersion(), parameters: map[string]any{}}
	for name, p := range in.GetParameters() {
		switch v := p.GetParameterChoice().(type) {
		case *oip.InferParameter_BoolParam:
			request.parameters[name] = v.BoolParam
		case *oip.InferParameter_Int64Param:
			request.parameters[name] = v.Int64Param
		case *oip.InferParameter_StringParam:
			request.parameters[name] = v.StringParam
		case *oip.InferParameter_DoubleParam:
			request.parameters[name] = v.DoubleParam
		case *oip.InferParameter_Uint64Param:
			request.parameters[name] = v.Uint64Param
		}
	}
	raw := in.GetRawInputContents()
	if len(raw) > 0 && len(raw) != len(in.GetInputs()) {
		return nil, status.Errorf(codes.InvalidArgument, "raw_input_contents has %d elements for %d inputs", len(raw), len(in.GetInputs()))
	}
	for i, input := range in.GetInputs() {
		t := tensor{name: input.GetName(), datatype: input.GetDatatype(), shape: input.GetShape()}
		if len(raw) > 0 {
			data, err := unpack(raw[i], t.datatype)
			if err != nil {
				return nil, grpcError(invalid(t.name, "%v", err))
			}
			t.data = data
		} else {
			for _, v := range input.GetContents().GetBytesContents() {
				t.data = append(t.data, string(v))
			}
			for _, v := range input.GetContents().GetInt64Contents() {
				t.data = append(t.data, v)
			}
		}
		if t.datatype == "INT64" {
			for _, v := range t.data {
				if whole, ok := v.(int64); !ok || whole < 0 {
					return nil, grpcError(invalid(t.name, "an element is not of its datatype, or negative"))
				}
			}
		}
		request.inputs = append(request.inputs, t)
	}
	out, err := g.s.infer(ctx, request)
	if err != nil {
		return nil, grpcError(err)
	}
	verdicts, certificates, err := out.texts()
	if err != nil {
		return nil, grpcError(err)
	}
	return out.message(in, verdicts, certificates, len(raw) > 0), nil
}

// unpack reads the raw bytes of a tensor: of BYTES every element after its length, 4 bytes, and
// of INT64 8 bytes each, all little-endian.
func unpack(raw []byte, datatype string) (all []any, err error) {
	for len(raw) > 0 {
		switch datatype {
		case "BYTES":
			if len(raw) < 4 || uint64(binary.LittleEndian.Uint32(raw)) > uint64(len(raw)-4) {
				return nil, fmt.Errorf("its raw contents end within an element")
			}
			n := int(binary.LittleEndian.Uint32(raw))
			all, raw = append(all, string(raw[4:4+n])), raw[4+n:]
		case "INT64":
			if len(raw) < 8 {
				return nil, fmt.Errorf("its raw contents end within an element")
			}
			all, raw = append(all, int64(binary.LittleEndian.Uint64(raw))), raw[8:]
		default:
			return nil, fmt.Errorf("its datatype is %q, must be BYTES or INT64", datatype)
		}
	}
	return all, nil
}

// message is the answer with the outputs that were asked for, raw where the inputs were.
func (out *inferred) message(in *oip.ModelInferRequest, verdicts, certificates []string, raw bool) *oip.ModelInferResponse {
	answer := &oip.ModelInferResponse{ModelName: out.about.Model, ModelVersion: out.about.Version, Id: in.GetId()}
	add := func(name, datatype string, shape []int64, contents *oip.InferTensorContents, packed func() []byte) {
		wanted := len(in.GetOutputs()) == 0
		for _, asked := range in.GetOutputs() {
			wanted = wanted || asked.GetName() == name
		}
		if !wanted {
			return
		}
		o := &oip.ModelInferResponse_InferOutputTensor{Name: name, Datatype: datatype, Shape: shape}
		if raw {
			answer.RawOutputContents = append(answer.RawOutputContents, packed())
		} else {
			o.Contents = contents
		}
		answer.Outputs = append(answer.Outputs, o)
	}
	samples := out.flat()
	add("samples", "FP32", out.shape, &oip.InferTensorContents{Fp32Contents: samples}, func() []byte { return littleEndian(samples) })
	for _, t := range []struct {
		name string
		text []string
	}{{"verdict", verdicts}, {"certificate", certificates}} {
		contents := &oip.InferTensorContents{}
		var content []byte
		for _, v := range t.text {
			contents.BytesContents = append(contents.BytesContents, []byte(v))
			content = append(binary.LittleEndian.AppendUint32(content, uint32(len(v))), v...)
		}
		add(t.name, "BYTES", []int64{int64(len(t.text))}, contents, func() []byte { return content })
	}
	return answer
}

// grpcError is a problem as a status.
func grpcError(err error) error {
	p := problemOf(err)
	code := map[int]codes.Code{
		http.StatusBadRequest: codes.InvalidArgument, http.StatusUnprocessableEntity: codes.InvalidArgument,
		http.StatusRequestEntityTooLarge: codes.OutOfRange, http.StatusNotFound: codes.NotFound,
		http.StatusServiceUnavailable: codes.Unavailable, http.StatusGatewayTimeout: codes.DeadlineExceeded, closedRequest: codes.Canceled,
	}[p.Status]
	if code == codes.OK {
		code = codes.Internal
	}
	return status.Error(code, p.sentence())
}

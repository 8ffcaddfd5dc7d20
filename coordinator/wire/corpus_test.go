package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Every message of every service as each release wrote it, with all of its fields, is read and
// means the same.
func TestCorpusOfMessages(t *testing.T) {
	corpus.Check(t, "messages",
		func(dir string) {
			all := File_wire_proto.Messages()
			for i := range all.Len() {
				for name, m := range examples(all.Get(i)) {
					b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		func(dir string) any {
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			said := make(map[string]any)
			for _, f := range files {
				b, err := os.ReadFile(filepath.Join(dir, f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				said[f.Name()] = parse(t, f.Name(), b)
			}
			return said
		})
}

// examples are messages of a type with a value in every field, one for each alternative.
func examples(d protoreflect.MessageDescriptor) map[string]proto.Message {
	list := map[string]proto.Message{}
	oneofs := d.Oneofs()
	if oneofs.Len() == 0 {
		m := dynamicpb.NewMessage(d)
		fill(m, nil)
		list[string(d.Name())] = m
	}
	for i := range oneofs.Len() {
		for k := range oneofs.Get(i).Fields().Len() {
			chosen := oneofs.Get(i).Fields().Get(k)
			m := dynamicpb.NewMessage(d)
			fill(m, chosen)
			list[string(d.Name())+"-"+string(chosen.Name())] = m
		}
	}
	return list
}

// fill gives each field a value of its own; of a oneof that which is chosen.
func fill(m protoreflect.Message, chosen protoreflect.FieldDescriptor) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.ContainingOneof() != nil && f != chosen:
		case f.IsList():
			list := m.Mutable(f).List()
			for n := range 2 {
				list.Append(value(f, list.NewElement, 10+n))
			}
		default:
			m.Set(f, value(f, func() protoreflect.Value { return m.NewField(f) }, 0))
		}
	}
}

func value(f protoreflect.FieldDescriptor, fresh func() protoreflect.Value, n int) protoreflect.Value {
	n += 100 + int(f.Number())
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s %d", f.Name(), n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{byte(n), 0, 0xff})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) + 0.25)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n) + 0.5)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(-n))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n) << 20)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return protoreflect.ValueOfInt64(-int64(n) << 40)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n) << 50)
	case protoreflect.MessageKind:
		v := fresh()
		fill(v.Message(), nil)
		return v
	}
	panic(fmt.Sprintf("no example of %s", f.Kind())) // a kind that wire.proto has not used before
}

// parse reads an example by the type in its name.
func parse(t *testing.T, name string, b []byte) any {
	t.Helper()
	kind, _, _ := strings.Cut(name, "-")
	d := File_wire_proto.Messages().ByName(protoreflect.Name(kind))
	if d == nil {
		t.Errorf("message %s is gone", kind)
		return nil
	}
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(text)
}

// A message, field, value or method that was in a release keeps its name, number and type. One
// that is not used any more stays, with a comment.
func TestCorpusOfDescriptors(t *testing.T) {
	const file = "wire.binpb"
	corpus.Check(t, "descriptors",
		func(dir string) {
			b, err := proto.Marshal(protodesc.ToFileDescriptorProto(File_wire_proto))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		func(dir string) any {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			var released descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(b, &released); err != nil {
				t.Fatal(err)
			}
			for _, change := range changes(outline(&released), outline(protodesc.ToFileDescriptorProto(File_wire_proto))) {
				t.Error(change)
			}
			return map[string]int{"messages": len(released.MessageType), "services": len(released.Service)}
		})
}

// outline has what others rely on: by a name that tells where it is, its type.
func outline(f *descriptorpb.FileDescriptorProto) map[string]string {
	all := make(map[string]string)
	enums := func(prefix string, list []*descriptorpb.EnumDescriptorProto) {
		for _, e := range list {
			for _, v := range e.Value {
				all[fmt.Sprintf("value %d of enum %s%s", v.GetNumber(), prefix, e.GetName())] = v.GetName()
			}
		}
	}
	enums("", f.EnumType)
	for _, m := range f.MessageType {
		all["message "+m.GetName()] = "there"
		enums(m.GetName()+".", m.EnumType)
		for _, field := range m.Field {
			oneof := ""
			if field.OneofIndex != nil {
				oneof = " of " + m.OneofDecl[field.GetOneofIndex()].GetName()
			}
			all[fmt.Sprintf("field %d of message %s", field.GetNumber(), m.GetName())] = fmt.Sprintf("%s %s %s%s%s",
				field.GetLabel(), field.GetType(), field.GetTypeName(), field.GetName(), oneof)
		}
	}
	for _, s := range f.Service {
		for _, m := range s.Method {
			all[fmt.Sprintf("method %s of service %s", m.GetName(), s.GetName())] = fmt.Sprintf("%s (stream %t) → %s (stream %t)",
				m.GetInputType(), m.GetClientStreaming(), m.GetOutputType(), m.GetServerStreaming())
		}
	}
	return all
}

// changes lists what of the first outline is missing or another in the second.
func changes(released, now map[string]string) (list []string) {
	for what, was := range released {
		switch is, there := now[what]; {
		case !there:
			list = append(list, what+" was in a release, and is gone")
		case is != was:
			list = append(list, fmt.Sprintf("%s was %q in a release, and is %q", what, was, is))
		}
	}
	return list
}

// The comparison sees a field that is removed, renumbered or reused, and a method that is gone.
func TestChanges(t *testing.T) {
	all := protodesc.ToFileDescriptorProto(File_wire_proto)
	hello := func(f *descriptorpb.FileDescriptorProto) *descriptorpb.DescriptorProto {
		for _, m := range f.MessageType {
			if m.GetName() == "Hello" {
				return m
			}
		}
		t.Fatal("no Hello")
		return nil
	}
	for name, change := range map[string]func(f *descriptorpb.FileDescriptorProto){
		"field 3 of message Hello was in a release": func(f *descriptorpb.FileDescriptorProto) {
			m := hello(f)
			m.Field = append(m.Field[:2:2], m.Field[3:]...)
		},
		"field 2 of message Hello was in a release": func(f *descriptorpb.FileDescriptorProto) { hello(f).Field[1].Number = proto.Int32(99) },
		`field 5 of message Hello was "LABEL_OPTIONAL TYPE_INT`: func(f *descriptorpb.FileDescriptorProto) {
			hello(f).Field[4].Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		},
		"method Session of service Control was in": func(f *descriptorpb.FileDescriptorProto) { f.Service[0].Method = f.Service[0].Method[1:] },
		"value 2 of enum Stage was":                func(f *descriptorpb.FileDescriptorProto) { f.EnumType[0].Value[2].Name = proto.String("X") },
		"": func(f *descriptorpb.FileDescriptorProto) {
			hello(f).Field = append(hello(f).Field, &descriptorpb.FieldDescriptorProto{Number: proto.Int32(99)})
		},
	} {
		now := proto.Clone(all).(*descriptorpb.FileDescriptorProto)
		change(now)
		found := strings.Join(changes(outline(all), outline(now)), "\n")
		if (found == "") != (name == "") || !strings.Contains(found, name) {
			t.Errorf("want %q, got %q", name, found)
		}
	}
}

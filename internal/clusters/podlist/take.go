package podlist

import (
	"bytes"
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// protobufPrefix is before each message of an API server (apimachinery, serializer/protobuf).
var protobufPrefix = []byte("k8s\x00")

// taking is a list that is asked for, and its pods once they were taken from the answer.
type taking struct {
	known client.Reader
	took  bool
	pods  []corev1.Pod
}

type takingKey struct{}

// Takes says whether a request is answered with a list of pods that Take is to be given, if it is in protobuf.
func Takes(ctx context.Context) bool { return ctx.Value(takingKey{}) != nil }

// Take takes the pods from a list, as an API server has written it, for whoever asked for it under the context,
// and returns the rest of it. What it weighs is taken from the room for it. Nothing that it returns, or
// takes, is part of the answer.
func Take(ctx context.Context, answer []byte, room func(weight int64) bool) ([]byte, error) {
	t, _ := ctx.Value(takingKey{}).(*taking)
	t.pods = nil
	add := func(message []byte) error { return t.add(ctx, message) }
	rest, err := trimmed(answer, &trimmer{take: room, pod: add})
	t.took = err == nil
	return rest, err
}

// trimmed is what is left of a list without its pods.
func trimmed(answer []byte, t *trimmer) ([]byte, error) {
	message, list, err := envelope(answer)
	if err != nil {
		return nil, err
	}
	if message.Raw, err = t.trim(list, keptOfPods, 0); err != nil {
		return nil, err
	}
	out, err := message.Marshal()
	return append(bytes.Clone(protobufPrefix), out...), err
}

// The fields of an envelope (runtime.Unknown, generated.proto of apimachinery).
const (
	numberOfType     = 1
	numberOfRaw      = 2
	numberOfEncoding = 3
)

// envelope is what a list is in, without it, and the list, which is a part of the answer.
func envelope(answer []byte) (outer runtime.Unknown, list []byte, err error) {
	left, found := bytes.CutPrefix(answer, protobufPrefix)
	if !found {
		return outer, nil, ErrNoPods
	}
	for len(left) > 0 {
		number, kind, head := protowire.ConsumeTag(left)
		if head < 0 || kind != protowire.BytesType {
			return outer, nil, ErrNoPods
		}
		value, length := protowire.ConsumeBytes(left[head:])
		if length < 0 {
			return outer, nil, fmt.Errorf("%w: %w", ErrNoPods, protowire.ParseError(length))
		}
		left = left[head+length:]
		switch number {
		case numberOfType:
			err = outer.TypeMeta.Unmarshal(value)
		case numberOfRaw:
			list = value
		case numberOfEncoding:
			outer.ContentEncoding = string(value)
		default:
		}
		if err != nil {
			return outer, nil, fmt.Errorf("%w: %w", ErrNoPods, err)
		}
	}
	if outer.Kind != "PodList" || outer.APIVersion != "v1" || outer.ContentEncoding != "" {
		return outer, nil, ErrNoPods
	}
	return outer, list, nil
}

// add takes a pod that was trimmed. One that is known with this UID and resourceVersion is the same one.
func (t *taking) add(ctx context.Context, message []byte) error {
	t.pods = append(t.pods, corev1.Pod{})
	pod := &t.pods[len(t.pods)-1]
	if is := identityOf(message); t.knows(ctx, is, pod) {
		pod.TypeMeta = metav1.TypeMeta{} // which no pod of a list has
		return nil
	}
	*pod = corev1.Pod{}
	if err := pod.Unmarshal(message); err != nil {
		return fmt.Errorf("%w: %w", ErrNoPods, err)
	}
	slim.Down(pod)
	return nil
}

// knows reads a pod from memory that is the same one.
func (t *taking) knows(ctx context.Context, is identity, into *corev1.Pod) bool {
	return t.known != nil && is.uid != "" && t.known.Get(ctx, is.key, into) == nil && into.UID == is.uid && into.ResourceVersion == is.version
}

// identity is by what a state of a pod is told from others.
type identity struct {
	key     client.ObjectKey
	uid     types.UID
	version string
}

// The fields that are in it (ObjectMeta, generated.proto of apimachinery), and where they are in a pod.
const (
	numberOfMeta      = 1
	numberOfName      = 1
	numberOfNamespace = 3
	numberOfUID       = 5
	numberOfVersion   = 6
)

// identityOf is that of a pod that was trimmed, whose fields can be read therefore.
func identityOf(message []byte) (is identity) {
	each(message, func(number protowire.Number, meta []byte) {
		if number != numberOfMeta {
			return
		}
		each(meta, func(number protowire.Number, value []byte) {
			switch number {
			case numberOfName:
				is.key.Name = string(value)
			case numberOfNamespace:
				is.key.Namespace = string(value)
			case numberOfUID:
				is.uid = types.UID(value)
			case numberOfVersion:
				is.version = string(value)
			default:
			}
		})
	})
	return is
}

// each calls visit for each field of a message that has a length of its own.
func each(message []byte, visit func(protowire.Number, []byte)) {
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			return
		}
		length := protowire.ConsumeFieldValue(number, kind, message[head:])
		if length < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[head:])
			visit(number, value)
		}
		message = message[head+length:]
	}
}

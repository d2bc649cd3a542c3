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

// protobufPrefix precedes each protobuf message of an API server (apimachinery, serializer/protobuf).
var protobufPrefix = []byte("k8s\x00")

// taking is a requested list, with its pods once they were taken from the answer.
type taking struct {
	known client.Reader
	took  bool
	pods  []corev1.Pod
}

type takingKey struct{}

// Takes reports whether the protobuf answer of a request must be passed to Take.
func Takes(ctx context.Context) bool { return ctx.Value(takingKey{}) != nil }

// Take takes the pods from a list in an API server's answer, for the request of the context, and returns the rest of the
// answer. room reserves the memory. Nothing that it takes or returns refers to the answer's buffer.
func Take(ctx context.Context, answer []byte, room func(weight int64) bool) ([]byte, error) {
	t, _ := ctx.Value(takingKey{}).(*taking)
	t.pods = nil
	add := func(message []byte) error { return t.add(ctx, message) }
	rest, err := trimmed(answer, &trimmer{take: room, pod: add})
	t.took = err == nil
	return rest, err
}

// trimmed returns a list without its pods.
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

// envelope returns the envelope of a list without the list, and the list, which refers to the answer's buffer.
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

// add takes a trimmed pod. A cached pod with the same UID and resourceVersion is reused.
func (t *taking) add(ctx context.Context, message []byte) error {
	t.pods = append(t.pods, corev1.Pod{})
	pod := &t.pods[len(t.pods)-1]
	if is := identityOf(message); t.knows(ctx, is, pod) {
		pod.TypeMeta = metav1.TypeMeta{} // pods in a list have no TypeMeta
		return nil
	}
	*pod = corev1.Pod{}
	if err := pod.Unmarshal(message); err != nil {
		return fmt.Errorf("%w: %w", ErrNoPods, err)
	}
	slim.Down(pod)
	return nil
}

// knows reads the pod from the cache, if it has the same identity.
func (t *taking) knows(ctx context.Context, is identity, into *corev1.Pod) bool {
	return t.known != nil && is.uid != "" && t.known.Get(ctx, is.key, into) == nil && into.UID == is.uid && into.ResourceVersion == is.version
}

// identity identifies a state of a pod.
type identity struct {
	key     client.ObjectKey
	uid     types.UID
	version string
}

// The fields of an identity (ObjectMeta, generated.proto of apimachinery), and that of ObjectMeta in a pod.
const (
	numberOfMeta      = 1
	numberOfName      = 1
	numberOfNamespace = 3
	numberOfUID       = 5
	numberOfVersion   = 6
)

// identityOf returns the identity of a trimmed pod. Trimming has already validated its fields.
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

// each calls visit for each length-delimited field of a message.
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

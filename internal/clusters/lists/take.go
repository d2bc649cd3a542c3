package lists

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

// taking is a requested list, whose items the receiver has once they were taken from the answer.
type taking struct {
	form
	into receiver
	took bool
}

// receiver takes the trimmed items of a list.
type receiver interface {
	// clear drops all items, because the answer is read again.
	clear()
	// add takes one item. The message is valid until it returns.
	add(ctx context.Context, message []byte) error
}

type takingKey struct{}

// Takes reports whether the protobuf answer of a request must be passed to Take.
func Takes(ctx context.Context) bool { return ctx.Value(takingKey{}) != nil }

// Scope returns the objects that the request of the context lists, such as in "the answer is too large for one namespace".
func Scope(ctx context.Context) string {
	t, _ := ctx.Value(takingKey{}).(*taking)
	return t.scope
}

// Take takes the items from a list in an API server's answer, for the request of the context, and returns the rest of the
// answer. room reserves the memory. Nothing that it takes or returns refers to the answer's buffer.
func Take(ctx context.Context, answer []byte, room func(weight int64) bool) ([]byte, error) {
	t, _ := ctx.Value(takingKey{}).(*taking)
	t.into.clear()
	add := func(message []byte) error { return t.into.add(ctx, message) }
	rest, err := trimmed(answer, t.form, &trimmer{take: room, item: add})
	t.took = err == nil
	return rest, err
}

// trimmed returns a list without its items.
func trimmed(answer []byte, of form, t *trimmer) ([]byte, error) {
	message, list, err := envelope(answer, of.kind)
	if err != nil {
		return nil, err
	}
	if message.Raw, err = t.trim(list, of.kept, 0); err != nil {
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
func envelope(answer []byte, kind string) (outer runtime.Unknown, list []byte, err error) {
	left, found := bytes.CutPrefix(answer, protobufPrefix)
	if !found {
		return outer, nil, ErrNoList
	}
	for len(left) > 0 {
		number, wire, head := protowire.ConsumeTag(left)
		if head < 0 || wire != protowire.BytesType {
			return outer, nil, ErrNoList
		}
		value, length := protowire.ConsumeBytes(left[head:])
		if length < 0 {
			return outer, nil, fmt.Errorf("%w: %w", ErrNoList, protowire.ParseError(length))
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
			return outer, nil, fmt.Errorf("%w: %w", ErrNoList, err)
		}
	}
	if outer.Kind != kind || outer.APIVersion != "v1" || outer.ContentEncoding != "" {
		return outer, nil, ErrNoList
	}
	return outer, list, nil
}

// pods receives pods in the form of package slim.
type pods struct {
	// known has cached pods, or is nil.
	known client.Reader
	items []corev1.Pod
}

func (p *pods) clear() { p.items = nil }

// add takes a trimmed pod. A cached pod with the same UID and resourceVersion is reused.
func (p *pods) add(ctx context.Context, message []byte) error {
	p.items = append(p.items, corev1.Pod{})
	pod := &p.items[len(p.items)-1]
	if is := identityOf(message); p.knows(ctx, is, pod) {
		pod.TypeMeta = metav1.TypeMeta{} // pods in a list have no TypeMeta
		return nil
	}
	*pod = corev1.Pod{}
	if err := pod.Unmarshal(message); err != nil {
		return fmt.Errorf("%w: %w", ErrNoList, err)
	}
	slim.Down(pod)
	return nil
}

// knows reads the pod from the cache, if it has the same identity.
func (p *pods) knows(ctx context.Context, is identity, into *corev1.Pod) bool {
	return p.known != nil && is.uid != "" && p.known.Get(ctx, is.key, into) == nil && into.UID == is.uid && into.ResourceVersion == is.version
}

// volumes receives volumes with the fields that package disk compares.
type volumes struct{ items []corev1.PersistentVolume }

func (v *volumes) clear() { v.items = nil }

func (v *volumes) add(_ context.Context, message []byte) error {
	v.items = append(v.items, corev1.PersistentVolume{})
	if err := v.items[len(v.items)-1].Unmarshal(message); err != nil {
		return fmt.Errorf("%w: %w", ErrNoList, err)
	}
	return nil
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

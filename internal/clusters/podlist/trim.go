package podlist

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// Nine tenths of a list of pods is what no decision reads: who manages which field, containers, addresses.
// They are left out of the message before it is decoded: an API server writes protobuf in a fraction of
// the time that JSON takes it, and what is not decoded takes neither time nor memory here.

// kept are the fields of a message that are kept, by number: one without fields of its own is kept whole.
// The numbers are those of generated.proto of each API group, which never change their meaning.
type kept map[protowire.Number]kept

// entry is of a map, and kept whole.
var entry = kept{}

var (
	keptOfMeta = kept{
		1: nil, 3: nil, 5: nil, 6: nil, 8: nil, 9: nil, // name, namespace, uid, resourceVersion, creation and deletion
		11: entry, 12: entry, 13: {1: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: nil}, // labels, annotations, ownerReferences
	}
	keptOfVolume    = kept{2: {10: {1: nil}}} // volumeSource.persistentVolumeClaim.claimName
	keptOfCondition = kept{1: nil, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: nil}
	keptOfEnd       = kept{1: nil, 3: nil}                                                      // exitCode, reason
	keptOfContainer = kept{1: nil, 2: {1: {1: nil}, 3: keptOfEnd}, 3: {3: keptOfEnd}}           // name, state, lastState
	keptOfStatus    = kept{1: nil, 2: keptOfCondition, 8: keptOfContainer, 10: keptOfContainer} // phase, conditions, statuses of containers
	keptOfPod       = kept{1: keptOfMeta, 2: {1: keptOfVolume, 10: nil}, 3: keptOfStatus}       // spec: volumes, nodeName
	keptOfPods      = kept{1: {2: nil, 3: nil, 4: nil}, 2: keptOfPod}                           // resourceVersion, continue, remainingItemCount
)

// protobufPrefix is before each message of an API server (apimachinery, serializer/protobuf).
var protobufPrefix = []byte("k8s\x00")

// Errors of what is trimmed.
var (
	// ErrNoPods is what an answer is that is no list of pods.
	ErrNoPods = errors.New("the answer is no list of pods")
	// ErrNoRoom is what a list is that there is no room for.
	ErrNoRoom = errors.New("there is no room for the list of pods")
)

// Trim leaves of a list of pods, as an API server has written it, what package slim leaves of each, and says
// what it weighs once it is decoded. It ends as soon as that is more than there is room for.
func Trim(answer []byte, take func(weight int64) bool) ([]byte, error) {
	raw, found := bytes.CutPrefix(answer, protobufPrefix)
	if !found {
		return nil, ErrNoPods
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPods, err)
	}
	if unknown.Kind != "PodList" || unknown.APIVersion != "v1" || unknown.ContentEncoding != "" {
		return nil, ErrNoPods
	}
	t := &trimmer{take: take}
	list, err := t.trim(unknown.Raw, keptOfPods, 0)
	if err != nil {
		return nil, err
	}
	unknown.Raw = list
	out, err := unknown.Marshal()
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(protobufPrefix), out...), nil
}

// trimmer copies messages without what is not kept of them.
type trimmer struct {
	take func(weight int64) bool
	// scratch is what was copied last, by how deep it is nested.
	scratch [][]byte
}

// trim returns a copy that is good until the next message of this depth.
func (t *trimmer) trim(message []byte, fields kept, depth int) ([]byte, error) {
	for len(t.scratch) <= depth {
		t.scratch = append(t.scratch, nil)
	}
	out := t.scratch[depth][:0]
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoPods, protowire.ParseError(head))
		}
		length := protowire.ConsumeFieldValue(number, kind, message[head:])
		if length < 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoPods, protowire.ParseError(length))
		}
		field := message[:head+length]
		message = message[head+length:]
		within, keep := fields[number]
		if !keep {
			continue
		}
		if !t.take(weightOf(within, len(field), depth)) {
			return nil, ErrNoRoom
		}
		if len(within) == 0 {
			out = append(out, field...)
			continue
		}
		if kind != protowire.BytesType {
			return nil, ErrNoPods
		}
		value, _ := protowire.ConsumeBytes(field[head:])
		inner, err := t.trim(value, within, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, field[:head]...)
		out = protowire.AppendBytes(out, inner)
	}
	t.scratch[depth] = out
	return out, nil
}

// weightOf is what a field weighs without the messages in it, which are weighed by themselves: a pod, any
// other message, or a text, a number or an entry of a map, as it was copied and as it was decoded.
func weightOf(within kept, size, depth int) int64 {
	switch {
	case within == nil:
		return weigh.Scalar + 2*int64(size)
	case len(within) == 0:
		return weigh.Member + 2*int64(size)
	case depth == 0:
		return weigh.Item
	case depth == 1:
		return weigh.Member // metadata, spec and status are in the pod
	default:
		return weigh.Element
	}
}

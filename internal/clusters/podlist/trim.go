package podlist

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

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

// numberOfItems is the field of a list that its pods are in.
const numberOfItems = 2

var (
	keptOfMeta = kept{
		1: nil, 3: nil, 5: nil, 6: nil, 8: nil, 9: nil, // name, namespace, uid, resourceVersion, creation and deletion
		11: entry, 12: entry, 13: {1: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: nil}, 14: nil, // labels, annotations, ownerReferences, finalizers
	}
	keptOfVolume    = kept{2: {10: {1: nil}}} // volumeSource.persistentVolumeClaim.claimName
	keptOfCondition = kept{1: nil, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: nil}
	keptOfEnd       = kept{1: nil, 3: nil}                                                      // exitCode, reason
	keptOfContainer = kept{1: nil, 2: {1: {1: nil}, 3: keptOfEnd}, 3: {3: keptOfEnd}}           // name, state, lastState
	keptOfStatus    = kept{1: nil, 2: keptOfCondition, 8: keptOfContainer, 10: keptOfContainer} // phase, conditions, statuses of containers
	keptOfPod       = kept{1: keptOfMeta, 2: {1: keptOfVolume, 10: nil}, 3: keptOfStatus}       // spec: volumes, nodeName
	keptOfPods      = kept{1: {2: nil, 3: nil, 4: nil}, 2: keptOfPod}                           // resourceVersion, continue, remainingItemCount
)

// Errors of what is trimmed.
var (
	// ErrNoPods is what an answer is that is no list of pods.
	ErrNoPods = errors.New("the answer is no list of pods")
	// ErrNoRoom is what a list is that there is no room for.
	ErrNoRoom = errors.New("there is no room for the list of pods")
)

// trimmer copies messages without what is not kept of them, and says what they weigh once they are decoded. It
// ends as soon as that is more than there is room for.
type trimmer struct {
	take func(weight int64) bool
	// pod takes a pod of the list, which is not copied then; what it is given is good until it returns.
	pod func(message []byte) error
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
		if depth == 0 && number == numberOfItems {
			if err := t.pod(inner); err != nil {
				return nil, err
			}
			continue
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

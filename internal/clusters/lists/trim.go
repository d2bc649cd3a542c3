package lists

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// Nine tenths of a list are not read by any decision: managed fields, containers, addresses. They are removed from
// the message before it is decoded. An API server writes protobuf in a fraction of the time that JSON takes, and fields that
// are not decoded cost no time or memory here.

// kept lists the fields of a message that are kept, by number. A nil entry is kept whole. The numbers are those of
// generated.proto of each API group, which never change.
type kept map[protowire.Number]kept

// entry is a map entry, which is kept whole.
var entry = kept{}

// form is the form of a list.
type form struct {
	// kind is the kind of the list, and scope the objects that it lists, for messages.
	kind, scope string
	kept        kept
}

// numberOfItems is the field of a list that holds its items.
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
	keptOfList      = kept{2: nil, 3: nil, 4: nil}                                              // resourceVersion, continue, remainingItemCount

	listOfPods = form{"PodList", "for one namespace", kept{1: keptOfList, numberOfItems: keptOfPod}}
)

// The sources of volumes (PersistentVolumeSource), with the fields that package disk compares: names, and attributes that
// drivers define.
var (
	names         = kept{1: nil, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil}
	keptOfSources = kept{
		1: names, 2: names, 3: names, 4: names, 5: names, 6: names, 7: names, 8: {1: nil}, 9: {1: nil, 2: nil}, 10: names, 11: names,
		12: {1: nil, 5: entry}, 13: names, 14: names, 15: names, 16: names, 17: names, 18: names, 19: {1: nil, 2: nil, 5: nil, 6: nil, 8: nil},
		20: names, 21: {1: nil, 2: nil}, 22: {1: nil, 2: nil, 5: entry}, // 12 flexVolume, 22 CSI
	}
	keptOfDisk = kept{1: {1: nil, 5: nil}, 2: {2: keptOfSources}} // name, uid; source

	listOfVolumes = form{"PersistentVolumeList", "for all volumes", kept{1: keptOfList, numberOfItems: keptOfDisk}}
)

// Errors of trimming.
var (
	// ErrNoList is the error of an answer that is not the requested list.
	ErrNoList = errors.New("the answer is not the requested list")
	// ErrNoRoom is the error of a list that exceeds the available memory.
	ErrNoRoom = errors.New("there is no room for the list")
)

// trimmer copies messages with only the kept fields, and estimates their decoded size. It stops when the available memory is
// used up.
type trimmer struct {
	take func(weight int64) bool
	// item receives each item of the list instead of a copy. The message is valid until it returns.
	item func(message []byte) error
	// scratch holds the last copy, by nesting depth.
	scratch [][]byte
}

// trim returns a copy that is valid until the next message of this depth.
func (t *trimmer) trim(message []byte, fields kept, depth int) ([]byte, error) {
	for len(t.scratch) <= depth {
		t.scratch = append(t.scratch, nil)
	}
	out := t.scratch[depth][:0]
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoList, protowire.ParseError(head))
		}
		length := protowire.ConsumeFieldValue(number, kind, message[head:])
		if length < 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoList, protowire.ParseError(length))
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
			return nil, ErrNoList
		}
		value, _ := protowire.ConsumeBytes(field[head:])
		inner, err := t.trim(value, within, depth+1)
		if err != nil {
			return nil, err
		}
		if depth == 0 && number == numberOfItems {
			if err := t.item(inner); err != nil {
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

// weightOf returns the memory of a field, as copied and as decoded. It excludes nested messages, which are counted
// separately.
func weightOf(within kept, size, depth int) int64 {
	switch {
	case within == nil:
		return weigh.Scalar + 2*int64(size)
	case len(within) == 0:
		return weigh.Member + 2*int64(size)
	case depth == 0:
		return weigh.Item
	case depth == 1:
		return weigh.Member // metadata, spec and status are embedded in the item
	default:
		return weigh.Element
	}
}

package copy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// there is the node of all receivers.
const there = "there"

// nodes are the attachments of new volumes, and the processes of receivers whose pods were deleted by force.
type nodes struct {
	attached map[string]bool // by the name of the volume
	orphans  []*volumestest.Disk
	// lockless is true if the file system of the volumes has no locks.
	lockless bool
}

// mounts attaches the volume of a receiver to its node. It returns false if the receiver ends there, because an orphan
// has locked the volume.
func (w *world) mounts(m *pod) bool {
	if m.Node = there; w.attaches {
		w.nodes.attached[m.mounted.Name] = true
	}
	return w.nodes.lockless || !slices.Contains(w.nodes.orphans, m.mounted)
}

// detaches ends the attachments of volumes that no process has mounted.
func (w *world) detaches() {
	maps.DeleteFunc(w.nodes.attached, func(name string, _ bool) bool {
		for _, m := range w.movers {
			if m.mounted != nil && m.mounted.Name == name && !m.Ended {
				return false
			}
		}
		return !slices.ContainsFunc(w.nodes.orphans, func(d *volumestest.Disk) bool { return d.Name == name })
	})
}

// showAttached adds what an observer sees of the attachments of the new volume.
func (w *world) showAttached(pair *volumes.Pair) {
	seen := pair.Copy
	seen.Unused = true // only movers name these claims
	for _, volume := range []*volumes.Volume{&seen.Incoming.Volume, &pair.Giver.Volume, &pair.Taker.Volume} {
		if volume.Found && w.nodes.attached[volume.Name] {
			volume.Attachments = []volumes.Attachment{{Name: "new", Node: there}}
		}
	}
	seen.Incoming.Volume.Modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
}

// orphan deletes the pod of a running receiver by force. Its process still writes.
func (w *world) orphan(name string) {
	if m := w.movers[name]; m != nil && m.role == volumes.RoleReceiver && m.mounted != nil && !m.Ended && w.nodes.attached[m.mounted.Name] {
		w.nodes.orphans = append(w.nodes.orphans, m.mounted)
		delete(w.movers, name)
	}
}

// checkOrphans verifies that no process of a receiver whose pod was deleted by force can write into a volume that the
// ordinal can mount.
func (w *world) checkOrphans(t volumestest.Failer) {
	for _, p := range w.Places {
		if own := p.Own(); own != nil && slices.Contains(w.nodes.orphans, own) {
			t.Fatalf("I2: volume %s can be mounted by the ordinal, and a receiver that was deleted by force still writes to it", own.Name)
		}
	}
}

// TestCopyOrphanMachine: a receiver that was deleted by force never writes into a volume on which the ordinal starts, as
// long as VolumeAttachments show where volumes are mounted.
func TestCopyOrphanMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := attached()
		actions := w.actions()
		delete(actions, "volumes are attached, or not")
		actions["a receiver is deleted by force"] = func(t *rapid.T) { w.orphan(volumestest.AnyOf(t, w.movers)) }
		actions["an orphan ends"] = func(*rapid.T) { w.nodes.orphans = nil }
		actions["volumes are detached"] = func(*rapid.T) { w.detaches() }
		t.Repeat(actions)
	})
}

// TestOrphanedReceiver: a receiver is deleted by force in the last pass and still writes. Its successor cannot lock the
// volume, or shows that it has no lock. The ordinal starts only after that receiver has ended (I2).
func TestOrphanedReceiver(t *testing.T) {
	for name, lockless := range map[string]bool{"with locks": false, "without locks": true} {
		t.Run(name, func(t *testing.T) {
			w := untilIn(t, attached, introduced)
			w.nodes.lockless = lockless
			for _, name := range w.names() {
				w.orphan(name)
			}
			if len(w.nodes.orphans) != 1 {
				t.Fatalf("%d receivers were deleted by force", len(w.nodes.orphans))
			}
			for range 300 {
				w.Step(t)
				w.Check(t)
			}
			if sealed := volumes.HandingOf(w.Pair()).Sealed(); w.Runs != volumestest.Nowhere || sealed != lockless {
				t.Fatalf("it runs at side %d; its copy is sealed: %t", w.Runs, sealed)
			}
			w.nodes.orphans = nil
			w.Arrives(t)
		})
	}
}

// TestTakenOverBeforeDetached: the ordinal starts on its copy although the volume stays attached to the node of the
// receiver, which has ended. If that receiver does not exist any more, it starts only after the volume was detached.
func TestTakenOverBeforeDetached(t *testing.T) {
	for name, missing := range map[string]bool{"its receiver has ended": false, "its receiver does not exist": true} {
		t.Run(name, func(t *testing.T) {
			w := attached()
			w.pinned = true
			for range 300 {
				if pair := w.Pair(); missing && volumes.HandingOf(pair).Sealed() && pair.Copy.Receiver.Ended {
					maps.DeleteFunc(w.movers, func(_ string, m *pod) bool { return m.role == volumes.RoleReceiver })
				}
				w.Step(t)
			}
			waits := Copy{}.Transfer(w.Pair()).Waits
			if started := w.Runs == 1; started == missing || missing && !strings.Contains(waits, "is not attached to node "+there) {
				t.Fatalf("it runs at side %d: %q", w.Runs, waits)
			}
			if w.pinned = false; missing {
				w.Arrives(t)
			}
		})
	}
}

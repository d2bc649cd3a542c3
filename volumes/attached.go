package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// attachedToOthers returns the attachments of the second volume whose end the takeover waits for. That of its receiver's
// node is not among them if the receiver shows that nothing writes any more: its kubelet reports that it has ended well, it
// has kept every other writer out, its root is the sealed one, and no other pod names its claim. Then the volume passes
// from one pod to the next as in a rolling restart. A node mounts it once for all its pods, and the attach-detach
// controller attaches a volume for one node to another one only after it was detached (kubernetes
// attachdetach/reconciler/reconciler.go, attachDesiredVolumes). It does not do that for a volume for several nodes.
func (h Handing) attachedToOthers() []Attachment {
	r, in := h.Receiver, h.Incoming
	ended := r.Found && !r.Foreign && r.Attempt == h.Attempt.Number && r.Ended && r.Result.Done && r.Result.Locked && r.Result.Root == h.Attempt.Seal.Root
	if !ended || !in.Volume.forOneNode() || !h.Unused {
		return in.Volume.Attachments
	}
	return slices.DeleteFunc(slices.Clone(in.Volume.Attachments), func(at Attachment) bool { return at.Node == r.Node })
}

// forOneNode reports whether Kubernetes attaches the volume to one node at a time (kubernetes
// volume/util/util.go, IsMultiAttachAllowed).
func (v Volume) forOneNode() bool {
	several := func(mode corev1.PersistentVolumeAccessMode) bool {
		return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany
	}
	return len(v.Modes) > 0 && !slices.ContainsFunc(v.Modes, several)
}

// TakenOver reports whether the volume of a pair's taker is a second one that was taken over for it. Its attachments were
// judged before.
func TakenOver(pair Pair) bool {
	h := HandingOf(pair)
	return !h.Back && h.Taken()
}

package slices

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/slices/history"
)

// pinsTag says whether an image with a tag that moves becomes one with a fixed tag, and the
// pull policy changes only because of that. A pod that keeps the former one pulls more
// often than it must; the other way round it would run what its node has of the tag.
func pinsTag(from, to *corev1.Container) bool {
	byImage := func(c *corev1.Container) bool { return c.ImagePullPolicy == history.PullPolicy(c.Image) }
	return byImage(from) && byImage(to) && from.ImagePullPolicy == corev1.PullAlways
}

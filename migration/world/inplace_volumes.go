package world

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// mostAtOnce is how many volumes are read at once.
const mostAtOnce = 16

// readOwn reads the volumes of the set's claims, and the recorded ones, for both sides of a migration in place, which are
// one. Those that are being filled are read with their claims.
func readOwn(ctx context.Context, source, destination *observed) {
	own := &observed{recorded: source.recorded, claims: map[string]*corev1.PersistentVolumeClaim{}}
	for name, claim := range source.claims {
		if isClaimOf(source.endpoint.Set, name) {
			own.claims[name] = claim
		}
	}
	found, err := endpoint.GetSome[corev1.PersistentVolume](ctx, source.endpoint.Live, "", namesOf(own), mostAtOnce)
	if source.err == nil {
		source.err = err
	}
	source.volumes, destination.volumes = found, maps.Clone(found)
}

// isClaimOf reports whether a claim may be that of an ordinal of a set, by its name: <template>-<set>-<ordinal>.
func isClaimOf(set, claim string) bool {
	at := strings.LastIndex(claim, "-"+set+"-")
	if at <= 0 {
		return false
	}
	_, is := OrdinalOf(set, claim[at+1:])
	return is
}

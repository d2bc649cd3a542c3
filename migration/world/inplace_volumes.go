package world

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

const (
	// mostAtOnce is how many volumes are read at once.
	mostAtOnce = 16
	// mostKept is the size of a volume that is kept between passes, in bytes. The memory of a foreign cluster's answers is
	// limited only during a pass.
	mostKept = 8 << 10
)

// ownVolumes holds the volumes of a set by name, as the last pass of a migration in place has read them.
type ownVolumes map[string]*corev1.PersistentVolume

// readOwn reads the volumes of the set's claims, and the recorded ones, for both sides of a migration in place, which are
// one. Those that are being filled are read with their claims. It returns the volumes to keep for the next pass.
func (known ownVolumes) readOwn(ctx context.Context, source, destination *observed) ownVolumes {
	own := &observed{recorded: source.recorded, claims: map[string]*corev1.PersistentVolumeClaim{}}
	for name, claim := range source.claims {
		if isClaimOf(source.endpoint.Set, name) {
			own.claims[name] = claim
		}
	}
	names := namesOf(own)
	kept := known.unchanged(ctx, source, names)
	found, err := endpoint.GetSome[corev1.PersistentVolume](ctx, source.endpoint.Live, "", slices.DeleteFunc(names, func(name string) bool { return kept[name] != nil }), mostAtOnce)
	for _, volume := range found {
		volume.ManagedFields = nil // no decision reads them
	}
	maps.Copy(found, kept)
	source.fail(err)
	source.volumes, destination.volumes = found, maps.Clone(found)
	next := maps.Clone(found)
	maps.DeleteFunc(next, func(_ string, volume *corev1.PersistentVolume) bool { return volume.Size() > mostKept })
	return next
}

// unchanged returns the volumes that need not be read again: while an ordinal is in flight, those of the others that the
// view shows in the version that was read. Without an ordinal in flight all are read, because the begin of a handoff and the
// end of the migration are concluded from them.
func (known ownVolumes) unchanged(ctx context.Context, f *observed, names []string) ownVolumes {
	same := ownVolumes{}
	if f.endpoint.Cached == nil || f.inFlight == nil {
		return same
	}
	inFlight := map[string]bool{}
	for _, recorded := range f.recorded {
		inFlight[recorded.Name] = true
	}
	for name, claim := range f.claims {
		if k, is := ordinalOfClaim(f.endpoint.Set, name); is && k == *f.inFlight {
			inFlight[claim.Spec.VolumeName] = true
		}
	}
	for _, name := range names {
		read := known[name]
		if read == nil || inFlight[name] {
			continue
		}
		shown, err := endpoint.Get[corev1.PersistentVolume](ctx, f.endpoint.Cached, client.ObjectKey{Name: name})
		if err == nil && shown != nil && shown.UID == read.UID && shown.ResourceVersion == read.ResourceVersion {
			same[name] = read
		}
	}
	return same
}

// isClaimOf reports whether a claim may be that of an ordinal of a set, by its name.
func isClaimOf(set, claim string) bool {
	_, is := ordinalOfClaim(set, claim)
	return is
}

// ordinalOfClaim returns the ordinal of a set that a claim may be of, by its name: <template>-<set>-<ordinal>.
func ordinalOfClaim(set, claim string) (int32, bool) {
	at := strings.LastIndex(claim, "-"+set+"-")
	if at <= 0 {
		return 0, false
	}
	return dependencies.OrdinalOf(set, claim[at+1:])
}

package world

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// ClaimTemplates returns the names of the claim templates, in order.
func ClaimTemplates(set *appsv1.StatefulSet) []string {
	if set == nil {
		return nil
	}
	names := make([]string, 0, len(set.Spec.VolumeClaimTemplates))
	for _, template := range set.Spec.VolumeClaimTemplates {
		names = append(names, template.Name)
	}
	slices.Sort(names)
	return names
}

// volumesOf returns the claims of these ordinals, one for each claim template, with the reasons against creating
// their volumes at the other side.
func (e *Observer) volumesOf(m *api.Migration, source, destination *observed, ordinals []int32) []plan.OrdinalVolume {
	templates := ClaimTemplates(source.set)
	source.mountedBy, destination.mountedBy = source.users(), destination.users()
	all := make([]plan.OrdinalVolume, 0, len(ordinals)*len(templates))
	for _, ordinal := range ordinals {
		for _, template := range templates {
			v := ordinalVolume(m, source, destination, ordinal, template)
			e.judge(m, template, &v.Source, source, destination)
			e.judge(m, template, &v.Destination, destination, source)
			v.Copy = copyingOf(m, source, destination, v)
			all = append(all, v)
		}
	}
	return all
}

// ordinalVolume returns the claim of an ordinal for one template on both sides, with its volume there: see calledOn.
// If each side has a volume of its own, see ownHolding.
func ordinalVolume(m *api.Migration, source, destination *observed, ordinal int32, template string) plan.OrdinalVolume {
	v := plan.OrdinalVolume{Ordinal: ordinal, Template: template, Method: MethodOf(m, template), Word: wordOf(m, template)}
	if v.Separate() {
		v.Source, v.Destination = ownHolding(m, source, ordinal, template), ownHolding(m, destination, ordinal, template)
		return v
	}
	onSource, onDestination := calledOn(source, destination, plan.RecordedVolume(m.Status.Handoff, ordinal, template), ordinal, template)
	v.Source = holdingOf(m, source, ordinal, template, onSource)
	v.Destination = holdingOf(m, destination, ordinal, template, onDestination)
	if onSource != onDestination {
		v.Source.Name, v.Destination.Name = onSource, onDestination
	}
	return v
}

// ownHolding returns a side's claim with its own volume: the volume that was recorded when the ordinal's handoff
// started, if it belongs to this side, or the volume of the claim.
func ownHolding(m *api.Migration, f *observed, ordinal int32, template string) volumes.Holding {
	recorded := plan.RecordedVolume(m.Status.Handoff, ordinal, template).Name
	h := holdingOf(m, f, ordinal, template, recorded)
	if ref := h.Volume.ClaimRef; ref.Names(h.Ref) || ref.Names(volumes.Parked(h.Ref)) || ref.Names(volumes.OutgoingRef(h.Ref, m.UID)) {
		return h
	}
	return holdingOf(m, f, ordinal, template, h.Claim.Volume)
}

// wordOf returns the user's confirmations about a claim template. A gate that only warns confirms nothing.
func wordOf(m *api.Migration, template string) volumes.Word {
	var word volumes.Word
	for _, gate := range m.Spec.Gates {
		word.FilledShown = word.FilledShown || slices.Contains(gate.At, api.GateAfterStart) && !gate.DryRun
	}
	asked := askedOf(m, template).Empty
	word.FillsFromPeers, word.ReturnsToKept = asked.FillsFromPeers, asked.ReturnsToKept
	word.FilledShown = word.FilledShown || asked.ReadyWhenFilled
	return word
}

// askedOf returns the settings that apply to a claim template.
func askedOf(m *api.Migration, template string) api.VolumeSpec {
	return m.AcceptedVolume(template)
}

// MethodOf returns the method by which a claim template moves.
func MethodOf(m *api.Migration, template string) api.VolumeMethod {
	return askedOf(m, template).Method
}

func holdingOf(m *api.Migration, f *observed, ordinal int32, template, volume string) volumes.Holding {
	name := plan.ClaimName(template, f.endpoint.Set, ordinal)
	h := volumes.Holding{Ref: volumes.Ref{Namespace: f.endpoint.Namespace, Name: name}, Kubectl: f.endpoint.Kubectl()}
	if claim := f.claims[name]; claim != nil {
		h.Claim = f.viewClaim(claim, m.UID)
		f.addUsers(&h.Claim, m, name, ordinal)
	}
	if pv := f.volumes[volume]; pv != nil {
		h.Volume = f.viewVolume(pv, m.UID)
		h.Volume.Attachments = f.attached[volume]
	}
	if pv := f.volumes[h.Claim.Volume]; pv != nil && h.Claim.Volume != volume {
		if kept, parked := volumes.KeptOf(pv); parked && kept.Claim.Names(h.Ref) {
			h.Left = new(volumes.ViewVolume(pv, m.UID))
		}
	}
	return h
}

// viewClaim and viewVolume return views of claims and volumes of this side, with times by our clock.
func (f *observed) viewClaim(claim *corev1.PersistentVolumeClaim, owner types.UID) volumes.Claim {
	view := volumes.ViewClaim(claim, owner)
	view.DeletedAt = f.ours(view.DeletedAt)
	return view
}

func (f *observed) viewVolume(volume *corev1.PersistentVolume, owner types.UID) volumes.Volume {
	view := volumes.ViewVolume(volume, owner)
	view.DeletedAt = f.ours(view.DeletedAt)
	return view
}

// ours converts a time of this side's cluster to our clock, in seconds since 1970; 0 if there is none.
func (f *observed) ours(theirs int64) int64 {
	if theirs == 0 {
		return 0
	}
	return f.endpoint.Ours(time.Unix(theirs, 0)).Unix()
}

// addUsers adds the pods that reference a claim, other than the ordinal's own and the sender of this migration that
// stays beside it for the last pass. That sender only reads.
func (f *observed) addUsers(claim *volumes.Claim, m *api.Migration, name string, ordinal int32) {
	for _, pod := range f.mountedBy[name] {
		ours := m.UID != "" && pod.Labels[api.MigrationLabelKey] == string(m.UID)
		if pod.Name == plan.PodName(f.endpoint.Set, ordinal) || ours && pod.Labels[manifest.RoleLabelKey] == string(manifest.RoleLast) {
			continue
		}
		claim.Users = append(claim.Users, pod.Name)
		if pod.Spec.NodeName != "" && !f.noneLeft {
			claim.Mounters = append(claim.Mounters, pod.Name+"/"+string(pod.UID))
		}
		if ours {
			claim.Own = append(claim.Own, pod.Name)
		}
	}
}

// users returns the pods that reference a claim, by claim. A completed pod uses none. A warm mover is ignored,
// because it is deleted when the ordinal is stopped.
func (f *observed) users() map[string][]*corev1.Pod { return usersOf(f.pods) }

func usersOf(pods []corev1.Pod) map[string][]*corev1.Pod {
	users := map[string][]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Labels[manifest.RoleLabelKey] == string(manifest.RoleWarm) {
			continue
		}
		for j := range pod.Spec.Volumes {
			if claim := pod.Spec.Volumes[j].PersistentVolumeClaim; claim != nil {
				users[claim.ClaimName] = append(users[claim.ClaimName], pod)
			}
		}
	}
	return users
}

package outlook

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// claims finds claims that cannot be replaced. Claims that keep their volume need only exist.
func claims(s State) []plan.Finding {
	var found []plan.Finding
	for i := range s.Claims {
		c := &s.Claims[i]
		add := func(reason, message, remedy string) {
			found = append(found, plan.Finding{Reason: reason, Object: s.claimed(c), Message: s.claimed(c) + " " + message, Remedy: remedy})
		}
		describe := s.Kubectl.Do("describe", "pvc", "-n", s.Set.Namespace, c.Name)
		switch {
		case c.Found == nil:
			add(volumes.ReasonClaimMissing, "does not exist: its ordinal has no data to keep", s.Kubectl.Do("get", "pvc", "-n", s.Set.Namespace))
		case c.Found.DeletionTimestamp != nil:
			add(volumes.ReasonClaimNotBound, "is being deleted: it disappears with its pod", describe)
		case c.Found.Status.Phase != corev1.ClaimBound || c.Found.Spec.VolumeName == "":
			add(volumes.ReasonClaimNotBound, "is not bound to a volume", describe)
		case !s.judge(c).Work.stops():
		case len(c.Found.OwnerReferences) > 0:
			add(volumes.ReasonClaimOwned, "has an owner, "+ownerOf(c.Found)+", and would be deleted with it", "set persistentVolumeClaimRetentionPolicy to Retain, and wait until the ownerReference is removed")
		default:
			if others := s.users(c); len(others) > 0 {
				add(volumes.ReasonForeignPod, "is used by pod "+plan.Listed(others)+", too: it would keep the volume in use", "end that pod, or let it use another claim")
			}
		}
	}
	return found
}

func ownerOf(claim *corev1.PersistentVolumeClaim) string {
	owner := claim.OwnerReferences[0]
	return owner.Kind + " " + owner.Name
}

// users returns the pods that use a claim, except that of its ordinal, and those of a migration.
func (s State) users(c *Claim) []string {
	var names []string
	for i := range s.Pods {
		pod := &s.Pods[i]
		uses := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name
		})
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if uses && !over && pod.Name != plan.PodName(s.Set.Name, c.Ordinal) && !migrates(pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// migrates reports whether a pod belongs to a migration.
func migrates(pod *corev1.Pod) bool {
	_, is := pod.Annotations[api.OwnerAnnotationKey]
	return is
}

// methods finds differences that the method of the template does not remove.
func methods(s State) []plan.Finding {
	var found []plan.Finding
	for _, template := range s.Set.Spec.VolumeClaimTemplates {
		switch asked := api.AskedOf(s.Volumes, template.Name); {
		case asked.Method == api.MethodEmpty:
			found = append(found, s.unfit(template.Name, "method Empty moves no data, and is not available in place", "use method Copy: --volume "+template.Name+"=method=copy,image=IMAGE"))
		case asked.Method == api.MethodCopy && asked.Copy.Image == "" && s.replaces(template.Name):
			found = append(found, plan.Finding{
				Reason: volumes.ReasonCopyImageMissing, Object: s.object(),
				Message: "method Copy runs pods with the mover's image, and none is set for claim template " + template.Name,
				Remedy:  fmt.Sprintf("name the image of the manager, of this version: --volume %[1]s=method=copy,image=IMAGE, or copy.image for claim template %[1]s in spec.volumes", template.Name),
			})
		}
	}
	for i := range s.Claims {
		if finding := s.unremoved(&s.Claims[i]); finding != nil {
			found = append(found, *finding)
		}
	}
	return found
}

// unfit returns the finding that a claim template cannot be changed in this way.
func (s State) unfit(template, why, remedy string) plan.Finding {
	return plan.Finding{Reason: api.ReasonStorageUnfit, Object: s.object(), Message: fmt.Sprintf("claim template %s of %s: %s", template, s.object(), why), Remedy: remedy}
}

// unremoved returns the finding for a claim that would not become as its template; nil if it would. Claims without a volume
// are those of check "claims in place".
func (s State) unremoved(c *Claim) *plan.Finding {
	if c.Found == nil || c.Found.Spec.VolumeName == "" || c.Found.Status.Phase == corev1.ClaimLost {
		return nil
	}
	add := func(why, remedy string) *plan.Finding {
		return &plan.Finding{Reason: api.ReasonStorageUnfit, Object: s.claimed(c), Message: s.claimed(c) + ": " + why, Remedy: remedy}
	}
	result, method := s.compare(c), s.methodOf(c.Template.Name)
	work := workOf(result, method)
	wide := s.Kubectl.Migrate("storage", s.Set.Name, "-n", s.Set.Namespace, "-o", "wide")
	switch {
	case work == Impossible && len(result.Differences) == 0 && len(result.Unknown) > 0:
		return add(result.Unknown[0].Reason, wide)
	case work == Impossible:
		most := worst(result)
		if most.Needs == drift.Copy {
			return add(fmt.Sprintf("method %s cannot change %s from %q to %q: %s", method, most.Field, most.Claim, most.Template, most.Reason), "use method Copy: --volume "+c.Template.Name+"=method=copy,image=IMAGE")
		}
		return add(fmt.Sprintf("%s cannot change from %q to %q: %s", most.Field, most.Claim, most.Template, most.Reason), wide)
	case work == Snapshot && s.shrinks(c):
		return add("method Snapshot cannot restore into a smaller volume", "use method Copy: --volume "+c.Template.Name+"=method=copy,image=IMAGE")
	case work == Copy && s.shrinks(c) && ptr.Deref(c.Found.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == corev1.PersistentVolumeBlock:
		return add("it is a block device, which is copied whole, and its new volume would be smaller", "request at least the present size")
	}
	return nil
}

// worst returns the difference that needs the most work.
func worst(result drift.Result) drift.Difference {
	at := slices.IndexFunc(result.Differences, func(d drift.Difference) bool { return d.Needs == result.Needs() })
	return result.Differences[at]
}

// shrinks reports whether the new volume of a claim would be smaller.
func (s State) shrinks(c *Claim) bool { return requestOf(c.Template).Value() < sizeOf(c) }

// room finds smaller volumes. Data that were measured and do not fit are refused.
func room(s State) []plan.Finding {
	var found []plan.Finding
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Found == nil || s.judge(c).Work != Copy || !s.shrinks(c) {
			continue
		}
		size := requestOf(c.Template)
		finding := plan.Finding{Reason: volumes.ReasonCopySizeTooSmall, Object: s.claimed(c), Remedy: "request a larger size, or delete data", Warning: true}
		switch {
		case c.Used == 0:
			finding.Message = fmt.Sprintf("%s gets a volume of %s instead of %s, and its bytes in use are not known yet: the warm pass measures them, and its ordinal is not stopped if they do not fit with %d%% to spare", s.claimed(c), size, capacityOf(c), s.MarginPercent)
		case Fits(c.Used, size.Value(), s.MarginPercent):
			continue
		default:
			finding.Warning = false
			finding.Message = fmt.Sprintf("%s has %d bytes in use, and its new volume of %s must keep %d%% free: they do not fit", s.claimed(c), c.Used, size, s.MarginPercent)
		}
		found = append(found, finding)
	}
	return found
}

// Fits reports whether bytes in use fit into a volume of a size, if a share of the volume stays free.
func Fits(used, size int64, marginPercent int32) bool {
	const whole = 100
	return used*whole <= size*(whole-int64(marginPercent))
}

func capacityOf(c *Claim) string {
	if c.Volume == nil {
		return requestOf(c.Found).String()
	}
	capacity := c.Volume.Spec.Capacity[corev1.ResourceStorage]
	return capacity.String()
}

// warm warns of copies without a warm pass.
func warm(s State) []plan.Finding {
	var found []plan.Finding
	for _, template := range s.Set.Spec.VolumeClaimTemplates {
		asked := api.AskedOf(s.Volumes, template.Name)
		if !has(&template, corev1.ReadWriteOncePod) || asked.Method != api.MethodCopy || asked.Copy.Warm == api.CopyWarmSnapshot || !s.replaces(template.Name) {
			continue
		}
		found = append(found, plan.Finding{
			Reason: volumes.ReasonCopyCold, Object: s.object(), Warning: true,
			Message: fmt.Sprintf("the claims of template %s have access mode ReadWriteOncePod, so no pod can read them while their ordinal runs: without snapshots each ordinal is down for its whole copy", template.Name),
			Remedy:  "copy from snapshots, if the driver takes them: --volume " + template.Name + "=method=copy,image=IMAGE,warm=snapshot; or accept the outage",
		})
	}
	return found
}

package methods

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// entrance returns the Service of the receiver, which the incoming claim owns.
func (w writer) entrance() client.Object {
	service := manifest.ServiceFor(w.spec(), w.Copy.ServiceType)
	service.OwnerReferences = w.withClaim()
	return service
}

// export returns the ServiceExport of that Service. It is marked like the Service, and the incoming claim owns it too.
func (w writer) export() client.Object {
	export := NewServiceExport(w.action.Copy.ExportVersion, manifest.ServiceFor(w.spec(), w.Copy.ServiceType).ObjectMeta)
	export.SetOwnerReferences(w.withClaim())
	return export
}

// NewServiceExport returns the export of the Service that meta names, in a version of ServiceExport that its
// cluster serves.
func NewServiceExport(version string, meta metav1.ObjectMeta) client.Object {
	if version == mcsv1beta1.GroupVersion.Version {
		return &mcsv1beta1.ServiceExport{ObjectMeta: meta}
	}
	return &mcsv1alpha1.ServiceExport{ObjectMeta: meta}
}

// withClaim returns the owner reference to the claim of the action, so that an object is deleted with that
// claim.
func (w writer) withClaim() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: w.action.Ref.Name, UID: w.action.UID}}
}

// spec returns the shared fields of an attempt's movers.
func (w writer) spec() manifest.Spec {
	spec := manifest.Spec{
		Namespace: w.action.Ref.Namespace, Name: w.action.Copy.Pod, Owner: w.Owner, Fence: w.action.Fence, Claim: w.action.Ref.Name,
		Attempt: w.action.Copy.Attempt, Pass: w.action.Copy.Pass, Content: w.action.Copy.Content, Connect: w.action.Copy.Address, Relayed: w.action.Copy.Relayed,
		Fresh: w.action.Copy.Fresh, Warm: w.action.Copy.Warm, Node: w.action.Copy.Node, Image: w.Copy.Image, Resources: w.Copy.Resources,
		Verify: cmp.Or(string(w.action.Copy.Verify), "None"), Copy: w.action.Copy.Copy, Tally: w.action.Copy.Tally, Devices: w.Copy.Devices,
	}
	if w.Copy.Bandwidth != nil {
		spec.Bandwidth = w.Copy.Bandwidth.String()
	}
	if user := w.Copy.RunAsUser; user != nil {
		group := *user
		if w.Copy.RunAsGroup != nil {
			group = *w.Copy.RunAsGroup
		}
		security := manifest.AsUser(*user, group)
		spec.Security = &security
	}
	return spec
}

// mover returns the pod of a mover for the claim of the action.
func (w writer) mover(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	role := w.action.Copy.Role
	var claim corev1.PersistentVolumeClaim
	if role != volumes.RolePlaceholder {
		if err := w.at.Get(ctx, client.ObjectKey{Namespace: w.action.Ref.Namespace, Name: w.action.Ref.Name}, &claim); err != nil {
			return nil, err
		}
	}
	template, err := w.Template(ctx)
	if err != nil {
		return nil, err
	}
	var near []corev1.NodeSelector
	if role == volumes.RoleReceiver || role == volumes.RolePlaceholder {
		if near, err = w.near(ctx, pair.Copy); err != nil {
			return nil, err
		}
		stays, places, err := w.staying(ctx, pair.Copy, template)
		if err != nil {
			return nil, err
		}
		template, near = stays, append(near, places...)
	}
	if role == volumes.RolePlaceholder {
		return w.placeholder(template, near), nil
	}
	return w.pod(template, claim.Spec.VolumeMode, near), nil
}

// near returns the node affinities of the ordinal's other volumes, which restrict where a new volume may be
// provisioned.
func (w writer) near(ctx context.Context, known *volumes.Copying) ([]corev1.NodeSelector, error) {
	if known == nil {
		return nil, nil
	}
	beside, near := known.Beside, []corev1.NodeSelector(nil)
	for _, from := range []struct {
		client.Client
		names []string
	}{{w.Taker, beside.Taken}, {w.Giver, beside.Given}} {
		for _, name := range from.names {
			var volume corev1.PersistentVolume
			if err := from.Get(ctx, client.ObjectKey{Name: name}, &volume); err != nil {
				return nil, err
			}
			if at := volume.Spec.NodeAffinity; at != nil && at.Required != nil {
				near = append(near, *at.Required)
			}
		}
	}
	return near, nil
}

// pod returns the pod of a mover, placed like the pods of the ordinals.
func (w writer) pod(template *corev1.PodTemplateSpec, mode *corev1.PersistentVolumeMode, near []corev1.NodeSelector) *corev1.Pod {
	spec := w.spec()
	spec.Near = near
	if mode != nil {
		spec.Mode = *mode
	}
	spec.Placement, spec.PullSecrets = manifest.PlacementOf(template.Spec), template.Spec.ImagePullSecrets
	if template.Spec.SecurityContext != nil {
		spec.SELinux = template.Spec.SecurityContext.SELinuxOptions
	}
	switch w.action.Copy.Role {
	case volumes.RoleReceiver:
		return manifest.Receiver(spec)
	case volumes.RoleProver:
		return manifest.Prover(spec)
	default:
		return manifest.Sender(spec)
	}
}

// Rehearsal returns, for a dry run, the pod that a mover would have beside an ordinal's claim.
func Rehearsal(c volumes.Carrier, claim volumes.Ref, role volumes.Role, template *corev1.PodTemplateSpec) *corev1.Pod {
	w := writer{Carrier: c}
	w.action.Ref, w.action.Copy.Role, w.action.Copy.Attempt, w.action.Copy.Pass = claim, role, 1, 1
	w.action.Copy.Pod, w.action.Copy.Address = copy.PodName(role, claim, c.Owner, 1), "receiver:8722"
	w.action.Copy.Relayed = c.Copy.Transport == api.TransportRelay
	w.action.Copy.Verify, w.action.Copy.Copy = cmp.Or(c.Copy.Verify, api.CopyVerifyFull), volumes.IncomingRef(claim, c.Owner, 1).Name
	return w.pod(template, nil, nil)
}

// RehearsalBeside returns, for a dry run, the claim that a mover would mount beside an ordinal's claim. For a
// receiver it also returns the Service. original is the ordinal's claim at the source.
func RehearsalBeside(c volumes.Carrier, claim volumes.Ref, role volumes.Role, original *corev1.PersistentVolumeClaim) []client.Object {
	w := writer{Carrier: c}
	if role == volumes.RoleSender {
		w.action.Ref, w.action.Volume = volumes.OutgoingRef(claim, c.Owner), original.Spec.VolumeName
		return []client.Object{w.outgoingOf(original)}
	}
	w.action.Ref = volumes.IncomingRef(claim, c.Owner, 1)
	if c.Copy.Transport == api.TransportRelay {
		return []client.Object{w.incomingOf(original)}
	}
	return []client.Object{w.incomingOf(original), manifest.ServiceFor(w.spec(), c.Copy.ServiceType)}
}

package observe

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// copyPart is what of a copy is on one side: the claim that a mover mounts, the pod, and, at the side that is
// copied to, the new volume and the Service of the receiver.
type copyPart struct {
	role       volumes.Role
	claimName  string
	podName    string
	sealed     string
	claim      *corev1.PersistentVolumeClaim
	volumeName string
	pod        *corev1.Pod
	service    *corev1.Service
}

// expectCopies notes what is to be read of the copies of the ordinal on its way.
func expectCopies(m *api.Migration, source, destination *observed) {
	handoff := m.Status.Handoff
	if handoff == nil {
		return
	}
	for _, v := range handoff.Volumes {
		if v.Copy.Number == 0 || MethodOf(m, v.ClaimTemplate) != api.MethodCopy {
			continue
		}
		for _, f := range []*observed{source, destination} {
			claim := volumes.Ref{Namespace: f.endpoint.Namespace, Name: plan.ClaimName(v.ClaimTemplate, f.endpoint.Set, handoff.Ordinal)}
			part := copyPart{role: volumes.RoleReceiver, claimName: copy.IncomingRef(claim, m.UID, v.Copy.Number).Name, sealed: v.Copy.Seal.Volume}
			if string(f.endpoint.Side) == v.Copy.Giver {
				part = copyPart{role: volumes.RoleSender, claimName: copy.OutgoingRef(claim, m.UID).Name}
			}
			part.podName = copy.PodName(part.role, claim, m.UID, v.Copy.Number)
			if f.copying == nil {
				f.copying = map[string]*copyPart{}
			}
			f.copying[v.ClaimTemplate] = &part
		}
	}
}

// readCopies reads what movers are about from the API server, whatever the caches show: nothing is sealed or
// taken over on their word. The attachments of the new volumes are read after the pods that may cause them.
func (f *observed) readCopies(ctx context.Context) error {
	attachable := false
	for _, template := range slices.Sorted(maps.Keys(f.copying)) {
		volume, err := f.readCopy(ctx, f.copying[template])
		if err != nil {
			return err
		}
		if volume != nil {
			attachable = attachable || volume.Spec.HostPath == nil && volume.Spec.Local == nil && volume.Spec.NFS == nil
			if f.volumes == nil {
				f.volumes = map[string]*corev1.PersistentVolume{}
			}
			f.volumes[volume.Name] = volume
		}
	}
	if !attachable {
		return nil
	}
	return f.listAttachments(ctx, f.endpoint.Live)
}

func (f *observed) readCopy(ctx context.Context, part *copyPart) (volume *corev1.PersistentVolume, err error) {
	at := f.endpoint
	if part.pod, err = endpoint.Get[corev1.Pod](ctx, at.Live, at.Key(part.podName)); err != nil {
		return nil, err
	}
	if part.claim, err = endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(part.claimName)); err != nil {
		return nil, err
	}
	if part.role != volumes.RoleReceiver {
		return nil, nil
	}
	if part.service, err = endpoint.Get[corev1.Service](ctx, at.Live, at.Key(part.claimName)); err != nil {
		return nil, err
	}
	part.volumeName = part.sealed
	if part.claim != nil && part.claim.Spec.VolumeName != "" {
		part.volumeName = part.claim.Spec.VolumeName
	}
	if part.volumeName == "" {
		return nil, nil
	}
	key := at.Key(part.volumeName)
	key.Namespace = ""
	return endpoint.Get[corev1.PersistentVolume](ctx, at.Live, key)
}

// copyingOf is what is known of a claim that moves by method Copy; nil: it moves otherwise.
func copyingOf(m *api.Migration, source, destination *observed, v plan.OrdinalVolume) *volumes.Copying {
	if v.Method != api.MethodCopy {
		return nil
	}
	asked := copyAsked(m, v.Template)
	seen := &volumes.Copying{Asked: volumes.CopyAsked{Image: asked.Image, Address: asked.Address}}
	if asked.Size != nil {
		seen.Asked.Size = asked.Size.Value()
	}
	if claim := source.claims[v.Source.Ref.Name]; claim != nil {
		seen.Asked.Needed = valueOf(methods.Needed(claim))
	}
	recorded := plan.RecordedVolume(m.Status.Handoff, v.Ordinal, v.Template).Copy
	if recorded.Number == 0 {
		return seen
	}
	for _, f := range []*observed{source, destination} {
		part := f.copying[v.Template]
		if part == nil {
			continue
		}
		holding := v.Holding(f.endpoint.Side)
		if part.role == volumes.RoleSender {
			seen.Outgoing, seen.Sender = f.outgoing(m, part, *holding), moverOf(part.pod)
			continue
		}
		seen.Incoming, seen.Receiver = f.incoming(m, part), moverOf(part.pod)
		if part.service != nil {
			seen.Entrance = volumes.Entrance{Found: true, Address: manifest.Address(part.service, podOrNone(part.pod))}
		}
	}
	return seen
}

func valueOf(q resource.Quantity) int64 { return q.Value() }

func podOrNone(pod *corev1.Pod) *corev1.Pod {
	if pod == nil {
		return &corev1.Pod{}
	}
	return pod
}

func copyAsked(m *api.Migration, template string) api.CopySpec {
	for _, asked := range m.Spec.Volumes {
		if asked.ClaimTemplate == template {
			return asked.Copy
		}
	}
	return api.CopySpec{}
}

// outgoing is the claim from which the giver's volume is read.
func (f *observed) outgoing(m *api.Migration, part *copyPart, own volumes.Holding) volumes.Holding {
	h := volumes.Holding{Ref: volumes.Ref{Namespace: f.endpoint.Namespace, Name: part.claimName}, Volume: own.Volume}
	if part.claim != nil {
		h.Claim = volumes.ViewClaim(part.claim, m.UID)
	}
	return h
}

// incoming is the claim that the copy is made in, and the new volume: also when it has left that claim.
func (f *observed) incoming(m *api.Migration, part *copyPart) volumes.Holding {
	h := volumes.Holding{Ref: volumes.Ref{Namespace: f.endpoint.Namespace, Name: part.claimName}}
	if part.claim != nil {
		h.Claim = volumes.ViewClaim(part.claim, m.UID)
	}
	if pv := f.volumes[part.volumeName]; pv != nil && part.volumeName != "" {
		h.Volume = volumes.ViewVolume(pv, m.UID)
		h.Volume.Attachments = f.attached[part.volumeName]
	}
	return h
}

// moverOf is a mover as its pod shows it.
func moverOf(pod *corev1.Pod) volumes.Mover {
	seen := manifest.Observe(pod)
	m := volumes.Mover{
		Found: seen.Found, Terminating: seen.Terminating, UID: seen.UID, ResourceVersion: seen.ResourceVersion,
		Attempt: seen.Attempt, Pass: seen.Pass, Fence: seen.Fence, Key: seen.Key, Peer: seen.Peer, Ended: seen.Ended, Trouble: seen.Trouble,
	}
	if seen.Ended {
		m.EndedAt = endOf(pod)
	}
	if said := seen.Result; said != nil && seen.Ended {
		m.Result = volumes.MoverResult{
			Done: seen.Done(), Root: said.Root, Torn: said.Result == report.Discard, Message: said.Message,
			Bytes: said.Bytes, Files: said.Files, Seconds: int64(said.Seconds + 0.5),
		}
		if said.Result == report.Different {
			m.Result.Differs = said.Path
			if said.What != "" {
				m.Result.Differs += " (" + said.What + ")"
			}
		}
	}
	return m
}

// endOf is when the last container of a pod ended; zero: nothing says so.
func endOf(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if ended := status.State.Terminated; ended != nil && ended.FinishedAt.After(last) {
				last = ended.FinishedAt.Time
			}
		}
	}
	return last
}

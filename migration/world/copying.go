package world

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// copyPart holds the objects of a copy on one side: the claim that a mover mounts, the pod, and, at the side that
// receives the copy, the new volume and the receiver's Service.
type copyPart struct {
	role       volumes.Role
	claimName  string
	podName    string
	sealed     string
	claim      *corev1.PersistentVolumeClaim
	volumeName string
	// waits is true if the new claim is bound only when a pod is scheduled. It is read if several volumes are filled.
	waits, several bool
	pod            *corev1.Pod
	// unused is true if a list has shown that no pod which may still run names the claim.
	unused   bool
	warmName string
	warm     *corev1.Pod
	// refuses is the cluster's message about a volume that the warm pod could not mount.
	refuses string
	service *corev1.Service
	// kind is the requested type of the Service. The Migration owner may have to export it, and export is the state
	// of that.
	kind   corev1.ServiceType
	owner  types.UID
	export plan.Export
	// dropped is true after the attempt was given up. twin is another volume of the new volume's disk; empty if there
	// is none.
	dropped bool
	twin    string
	// snap is set for method Snapshot; nil if the bytes are copied.
	snap *snapshotPart
	// base is the claim that warm passes read instead of the ordinal's; nil if they read the ordinal's.
	base *basePart
}

// expectCopies records which objects of the moving ordinal's copies must be read.
func expectCopies(m *api.Migration, source, destination *observed) {
	handoff := m.Status.Handoff
	if handoff == nil {
		return
	}
	filled := 0
	for _, v := range handoff.Volumes {
		if MethodOf(m, v.ClaimTemplate).FillsSecond() {
			filled++
		}
	}
	for _, v := range handoff.Volumes {
		method := MethodOf(m, v.ClaimTemplate)
		if v.Copy.Number == 0 || !method.FillsSecond() {
			continue
		}
		for _, f := range []*observed{source, destination} {
			claim := volumes.Ref{Namespace: f.endpoint.Namespace, Name: plan.ClaimName(v.ClaimTemplate, f.endpoint.Set, handoff.Ordinal)}
			part := copyPart{role: volumes.RoleReceiver, claimName: volumes.IncomingRef(claim, m.UID, v.Copy.Number).Name, sealed: v.Copy.Seal.Volume, dropped: v.Copy.Dropped}
			if string(f.endpoint.Side) == v.Copy.Giver {
				part = copyPart{role: volumes.RoleSender, claimName: volumes.OutgoingRef(claim, m.UID).Name}
			}
			if proves := handoff.Step == api.StepProveCopy; proves && part.role == volumes.RoleSender {
				part.role = volumes.RoleProver
			}
			part.several, part.owner = filled > 1, m.UID
			part.kind = askedOf(m, v.ClaimTemplate).Copy.ServiceType
			part.podName = copy.PodName(part.role, claim, m.UID, v.Copy.Number)
			switch {
			case method == api.MethodSnapshot:
				snapshotPartOf(&part, claim, m.UID, v.Copy)
			case part.role == volumes.RoleSender: // a proof begins after all warm passes
				part.warmName = copy.PodName(volumes.RoleWarm, claim, m.UID, v.Copy.Number)
				part.base = basePartOf(claim, m.UID, v.Copy)
			}
			if f.copying == nil {
				f.copying = map[string]*copyPart{}
			}
			f.copying[v.ClaimTemplate] = &part
		}
	}
}

// readCopies reads the objects of movers from the API server and not from the caches, because volumes are sealed and
// taken over based on them. Attachments of the new volumes are read after the pods that may cause them.
func (f *observed) readCopies(ctx context.Context) error {
	attachable := false
	for _, template := range slices.Sorted(maps.Keys(f.copying)) {
		volume, err := f.readCopy(ctx, f.copying[template])
		if err != nil {
			return err
		}
		// A snapshot is not taken while the volume is attached anywhere.
		attachable = attachable || f.copying[template].snap != nil
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
	if err := f.readCopyUsers(ctx); err != nil {
		return err
	}
	return f.listAttachments(ctx, f.endpoint.Live)
}

// readTwins looks in both clusters for other volumes of the disks whose copy was given up. Such a volume belongs to
// another user. It is read from the API servers, because these disks may be deleted.
func readTwins(ctx context.Context, source, destination *observed) {
	for _, f := range []*observed{source, destination} {
		for _, part := range f.copying {
			volume := f.volumes[part.volumeName]
			if !part.dropped || part.volumeName == "" || volume == nil {
				continue
			}
			for _, at := range []*observed{source, destination} {
				if at.err == nil && !at.lost && part.twin == "" {
					twin, err := at.twinOf(ctx, volume)
					part.twin = twin
					at.fail(err)
				}
			}
		}
	}
}

// twinOf returns another volume of a disk in the cluster of this side; empty if there is none.
func (f *observed) twinOf(ctx context.Context, volume *corev1.PersistentVolume) (string, error) {
	var all corev1.PersistentVolumeList
	if err := f.endpoint.Live.List(ctx, &all); err != nil {
		return "", err
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.UID != volume.UID && disk.Relate(volume, other) != disk.Apart {
			return other.Name, nil
		}
	}
	return "", nil
}

func (f *observed) readCopy(ctx context.Context, part *copyPart) (volume *corev1.PersistentVolume, err error) {
	at := f.endpoint
	if part.podName != "" {
		if part.pod, err = endpoint.Get[corev1.Pod](ctx, at.Live, at.Key(part.podName)); err != nil {
			return nil, err
		}
	}
	if part.claim, err = endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(part.claimName)); err != nil {
		return nil, err
	}
	if part.snap != nil {
		if err := part.snap.read(ctx, at); err != nil {
			return nil, err
		}
	}
	if part.warmName != "" {
		if part.warm, err = endpoint.Get[corev1.Pod](ctx, at.Live, at.Key(part.warmName)); err != nil {
			return nil, err
		}
		part.refuses = MountRefused(ctx, at, part.warm, at.Theirs(f.now))
	}
	if part.role != volumes.RoleReceiver {
		return nil, part.base.read(ctx, at)
	}
	if err := part.readEntrance(ctx, at); err != nil {
		return nil, err
	}
	if part.snap != nil || part.several { // else the writing pod is created in any case
		if part.waits, err = waitsForPod(ctx, at, part.claim); err != nil {
			return nil, err
		}
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

// readEntrance reads the Service of a receiver, and whether it is exported.
func (part *copyPart) readEntrance(ctx context.Context, at endpoint.Endpoint) (err error) {
	if part.snap != nil {
		return nil
	}
	part.service, err = endpoint.Get[corev1.Service](ctx, at.Live, at.Key(part.claimName))
	if err == nil && part.kind == api.ServiceTypeExport && part.service != nil && at.ExportVersion != "" {
		part.export, err = readExport(ctx, part.owner, at, part.claimName)
	}
	return err
}

// copyingOf returns the state of a claim whose second volume is filled; nil if the claim moves by another method.
func copyingOf(m *api.Migration, source, destination *observed, v plan.OrdinalVolume) *volumes.Copying {
	if !v.Method.FillsSecond() {
		return nil
	}
	asked := askedOf(m, v.Template).Copy
	seen := &volumes.Copying{Asked: volumes.CopyAsked{Image: asked.Image, Address: asked.Address, Transport: asked.Transport, Warm: asked.Warm, Cutover: asked.Cutover, Prefetch: asked.Prefetch, Verify: asked.Verify, Accepted: slices.Contains(asked.AcceptDiffering, v.Ordinal), Export: asked.ServiceType == api.ServiceTypeExport}}
	if seen.Asked.Export { // an attempt records the side that it copies to
		seen.Asked.ExportVersion = destination.endpoint.ExportVersion
	}
	if asked.DowntimeBudget != nil {
		seen.Asked.Budget = asked.DowntimeBudget.Duration
	}
	if asked.DowntimeLimit != nil {
		seen.Asked.Limit = asked.DowntimeLimit.Duration
	}
	if asked.CutoverAt != nil {
		seen.Asked.CutoverAt = asked.CutoverAt.Time
	}
	if asked.Size != nil {
		seen.Asked.Size = asked.Size.Value()
	}
	if v.Method == api.MethodSnapshot {
		seen = snapshotting(m, source, destination, v)
	} else {
		seen.Snapshot.Giver, seen.Snapshot.Taker = source.baseSide(v.Source.Volume), destination.baseSide(v.Destination.Volume)
	}
	recorded := plan.RecordedVolume(m.Status.Handoff, v.Ordinal, v.Template).Copy
	claim := source.claims[v.Source.Ref.Name]
	if recorded.Giver == string(plan.DestinationSide) { // the claim may have been resized there
		claim = destination.claims[v.Destination.Ref.Name]
	}
	if claim != nil {
		seen.Asked.Needed = valueOf(methods.Needed(claim))
	}
	if recorded.Number == 0 {
		return seen
	}
	for _, f := range []*observed{source, destination} {
		if part := f.copying[v.Template]; part != nil {
			f.putCopy(m, part, *v.Holding(f.endpoint.Side), seen)
		}
	}
	return seen
}

// putCopy adds the objects of an attempt on one side to its state.
func (f *observed) putCopy(m *api.Migration, part *copyPart, own volumes.Holding, seen *volumes.Copying) {
	if part.role != volumes.RoleReceiver {
		seen.Outgoing = f.outgoing(m, part, own)
	} else {
		seen.Incoming, seen.WaitsForPod = f.incoming(m, part), part.waits
	}
	switch {
	case part.snap != nil:
		part.putSnapshot(seen, m.UID)
	case part.role == volumes.RoleProver:
		seen.Prover = f.moverOf(part.pod, m.UID)
	case part.role == volumes.RoleSender:
		seen.Sender, seen.Warm, seen.Base = f.moverOf(part.pod, m.UID), f.moverOf(part.warm, m.UID), part.base.view(m.UID)
		seen.Warm.Refuses = part.refuses
	default:
		seen.Receiver, seen.Asked.ExportVersion, seen.Unused = f.moverOf(part.pod, m.UID), f.endpoint.ExportVersion, part.unused
		if part.service != nil {
			seen.Entrance = part.entrance()
			seen.Entrance.Leaving = f.endpoint.Ours(seen.Entrance.Leaving)
		}
	}
}

// entrance returns the Service of a receiver, as reached from the other side.
func (part *copyPart) entrance() volumes.Entrance {
	e := volumes.Entrance{
		Found: true, UID: part.service.UID, ResourceVersion: part.service.ResourceVersion,
		Other:    manifest.MadeForAnother(part.service, part.owner, part.kind),
		Exported: part.export.Found, Refused: cmp.Or(part.export.Invalid, part.export.Conflict),
	}
	if at := part.service.DeletionTimestamp; at != nil {
		e.Leaving, e.Keeps = at.Time, volumes.KeepersOf(part.service)
	}
	switch {
	case part.kind != api.ServiceTypeExport:
		e.Address = manifest.Address(part.service, podOrNone(part.pod))
	case e.Exported && e.Refused == "":
		e.Address = manifest.ExportedAddress(part.service)
	}
	return e
}

func valueOf(q resource.Quantity) int64 { return q.Value() }

func podOrNone(pod *corev1.Pod) *corev1.Pod {
	if pod == nil {
		return &corev1.Pod{}
	}
	return pod
}

// incoming returns the claim that the copy is written to, and the new volume, even after it was detached from that
// claim.
func (f *observed) incoming(m *api.Migration, part *copyPart) volumes.Holding {
	h := volumes.Holding{Ref: volumes.Ref{Namespace: f.endpoint.Namespace, Name: part.claimName}, Kubectl: f.endpoint.Kubectl()}
	if part.claim != nil {
		h.Claim = f.viewClaim(part.claim, m.UID)
	}
	if pv := f.volumes[part.volumeName]; pv != nil && part.volumeName != "" {
		h.Volume = f.viewVolume(pv, m.UID)
		h.Volume.Attachments, h.Volume.Twin = f.attached[part.volumeName], part.twin
	}
	return h
}

// moverOf returns a mover of this side, with times by our clock.
func (f *observed) moverOf(pod *corev1.Pod, owner types.UID) volumes.Mover {
	return MoverOf(f.endpoint, pod, owner)
}

// MoverOf returns a mover as shown by its pod, with times by our clock; the zero value if pod is nil. A pod that owner
// did not create is foreign.
func MoverOf(at endpoint.Endpoint, pod *corev1.Pod, owner types.UID) volumes.Mover {
	m := moverOf(pod, owner)
	m.Made, m.EndedAt = at.Ours(m.Made), at.Ours(m.EndedAt)
	return m
}

// moverOf returns a mover as shown by its pod. A pod that this migration did not create is foreign.
func moverOf(pod *corev1.Pod, owner types.UID) volumes.Mover {
	seen := manifest.Observe(pod)
	m := volumes.Mover{
		Found: seen.Found, Foreign: seen.Found && seen.Owner != owner, Terminating: seen.Terminating, UID: seen.UID, ResourceVersion: seen.ResourceVersion,
		Attempt: seen.Attempt, Pass: seen.Pass, Warm: seen.Warm, Relayed: seen.Relayed, Claim: seen.Claim, Node: seen.Node, Made: seen.Made, Fence: seen.Fence, Key: seen.Key, Peer: seen.Peer, Ended: seen.Ended, Trouble: seen.Trouble, Broken: seen.Broken,
	}
	if seen.Terminating {
		m.Keeps = volumes.KeepersOf(pod)
	}
	if seen.Ended {
		m.EndedAt = endOf(pod)
	}
	if said := seen.Result; said != nil && seen.Ended {
		m.Result = volumes.MoverResult{
			Done: seen.Done(), Root: said.Root, Alone: seen.Alone(), Locked: said.Locked, Tally: said.Tally, Torn: said.Result == report.Discard, Message: said.Message,
			Bytes: said.Bytes, Files: said.Files, Written: said.Written, Seconds: int64(said.Seconds + 0.5), ReadRate: max(said.ReadRate, 0),
			Verify: api.CopyVerify(said.Verify), Read: max(said.Read, 0), Trusted: max(said.Trusted, 0),
			Known: max(said.Known, 0), Young: max(said.Young, 0), Proving: int64(max(said.Verifying, 0)),
		}
		if seen.Warm {
			m.Result.Bytes -= said.Holes // holes are not read
		}
		if said.Result == report.NotEmpty {
			m.Result.Holds = cmp.Or(said.Path, "something")
		}
		if said.Result == report.Different || seen.Alone() && said.Differences > 0 {
			m.Result.Differs = difference(said)
		}
	}
	return m
}

// difference describes where the two sides differ.
func difference(said *report.Result) string {
	if said.What == "" {
		return said.Path
	}
	return strings.TrimSpace(said.Path + " (" + said.What + ")")
}

// endOf returns when the last container of a pod ended; zero if that is not known.
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

package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
	"github.com/sliceshift/sliceshift/workload"
)

// rehearse dry-runs, at the destination's API server, the objects that the first handoff creates there. Admission
// policies, webhooks and limits answer as they would during the handoff.
func (e *Inspector) rehearse(ctx context.Context, m *api.Migration, source, destination *appsv1.StatefulSet) ([]plan.Finding, error) {
	objects, err := e.firstClaims(ctx, m, source)
	if err != nil {
		return nil, err
	}
	at, maker := e.Destination, world.New(m, e.Pair, e.Policy)
	effects := firstEffects(at, source, destination)
	lacks, err := e.makesNamespace(ctx, m)
	if err != nil {
		return nil, err
	}
	if lacks {
		effects = append(effects, plan.Effect{Verb: plan.CreateNamespace, Name: at.Namespace})
	}
	for _, effect := range effects {
		object, err := maker.Created(ctx, at, effect)
		_, own := errors.AsType[*world.OwnCredentialsError](err)
		if own || apierrors.IsNotFound(err) { // check "own credentials" reports the first
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	var findings []plan.Finding
	for _, object := range objects {
		finding, err := rehearseCreate(ctx, at, object)
		if err != nil {
			return nil, err
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

// movers dry-runs, on both sides, the objects that fill second volumes for the first ordinal's claims. Pod Security,
// webhooks, limits and the account's rights answer for the pods, claims and Services as they would during the
// handoff.
func (e *Inspector) movers(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	ordinals := movingOrdinals(m, source)
	if len(ordinals) == 0 {
		return nil, nil
	}
	var findings []plan.Finding
	for _, asked := range m.VolumesAsAccepted() {
		all, err := e.fillers(ctx, m, asked, volumes.FormOf(asked), source, ordinals[0])
		if err != nil {
			return nil, err
		}
		for _, each := range all {
			finding, err := rehearseCreate(ctx, each.at, each.object)
			if meta.IsNoMatchError(err) { // a cluster without snapshots has its own finding
				continue
			}
			if err != nil {
				return nil, err
			}
			if finding != nil && asked.Method == api.MethodCopy {
				*finding = ofCopy(*finding)
			}
			if finding != nil {
				findings = append(findings, *finding)
			}
		}
	}
	return findings, nil
}

// filler is an object that fills a second volume, as created on a side.
type filler struct {
	at     endpoint.Endpoint
	object client.Object
}

// fillers returns the objects for an ordinal's claim. Without an image no copy is possible, which the check of the
// claims reports.
func (e *Inspector) fillers(ctx context.Context, m *api.Migration, asked api.VolumeSpec, form volumes.Form, source *appsv1.StatefulSet, ordinal int32) ([]filler, error) {
	carrier := volumes.Carrier{Owner: m.UID, Copy: asked.Copy, Form: form}
	claim := func(at endpoint.Endpoint) volumes.Ref {
		return volumes.Ref{Namespace: at.Namespace, Name: plan.ClaimName(asked.ClaimTemplate, at.Set, ordinal)}
	}
	if asked.Method == api.MethodSnapshot {
		all, err := e.contents(ctx, carrier, claim)
		return append(all, filler{e.Destination, methods.RehearsedPlaceholder(carrier, claim(e.Destination), &source.Spec.Template)}), err
	}
	if asked.Method != api.MethodCopy || asked.Copy.Image == "" {
		return nil, nil
	}
	original, err := e.claimNamed(ctx, claim(e.Source).Name)
	if err != nil {
		return nil, err
	}
	var all []filler
	for _, side := range []struct {
		endpoint.Endpoint
		role volumes.Role
	}{{e.Source, volumes.RoleSender}, {e.Destination, volumes.RoleReceiver}} {
		all = append(all, filler{side.Endpoint, methods.Rehearsal(carrier, claim(side.Endpoint), side.role, &source.Spec.Template)})
		if original == nil {
			continue
		}
		for _, object := range methods.RehearsalBeside(carrier, claim(side.Endpoint), side.role, original) {
			all = append(all, filler{side.Endpoint, object})
		}
	}
	return all, nil
}

// contents returns the VolumeSnapshotContents that import a snapshot of an ordinal's volume: at the destination, and
// at the source for the rollback. Another check refuses a volume without a CSI driver.
func (e *Inspector) contents(ctx context.Context, carrier volumes.Carrier, claim func(endpoint.Endpoint) volumes.Ref) ([]filler, error) {
	original, err := e.claimNamed(ctx, claim(e.Source).Name)
	if err != nil || original == nil || original.Spec.VolumeName == "" {
		return nil, err
	}
	volume, err := e.volumeNamed(ctx, original.Spec.VolumeName)
	if err != nil || volume == nil || volume.Spec.CSI == nil {
		return nil, err
	}
	var all []filler
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		all = append(all, filler{at, methods.RehearsedContent(carrier, claim(at), volume.Spec.CSI.Driver)})
	}
	return all, nil
}

// ofCopy adds to a finding about objects of a copy the settings that can change them.
func ofCopy(finding plan.Finding) plan.Finding {
	if finding.Remedy != "" {
		finding.Remedy += "; or say what pods of the copy may be: copy.runAsUser, copy.resources, copy.serviceType"
	}
	return finding
}

// rehearseCreate dry-runs the creation of an object and checks what the API server would have stored. The answer is
// decoded into an empty object: decoding into the sent object would keep the fields that the API server has dropped.
func rehearseCreate(ctx context.Context, at endpoint.Endpoint, object client.Object) (*plan.Finding, error) {
	raw, err := endpoint.UnstructuredOf(at, object)
	if err != nil {
		return nil, err
	}
	whole := raw.DeepCopy().Object["spec"]
	finding, err := rehearsal(at, object, at.Live.Create(ctx, raw, client.DryRunAll))
	if finding != nil || err != nil {
		return finding, err
	}
	sent, err := endpoint.AsSet(object)
	if sent == nil || err != nil {
		return nil, err
	}
	kept, err := endpoint.Convert[appsv1.StatefulSet](raw)
	if err != nil {
		return nil, err
	}
	if finding := unkept(at, sent, kept); finding != nil {
		return finding, nil
	}
	return droppedBeside(at, whole, raw.Object["spec"]), nil
}

// unkept finds the fields that an API server has not kept of a StatefulSet that starts at ordinal 1.
func unkept(at endpoint.Endpoint, sent, kept *appsv1.StatefulSet) *plan.Finding {
	if sent.Spec.Ordinals != nil && !startsAt(kept, 1) {
		finding := unnumbered(at)
		return &finding
	}
	return dropped(at, &sent.Spec.Template, &kept.Spec.Template)
}

// startOrdinals checks that the API servers of slices that will start above 0 keep spec.ordinals. API servers before
// Kubernetes 1.27 drop the field (KEP-3335). The slice would then start the ordinals from 0, which run on the other
// side. A slice that does not exist yet is dry-run.
func (e *Inspector) startOrdinals(ctx context.Context, m *api.Migration, source, destination *appsv1.StatefulSet) ([]plan.Finding, error) {
	spec := world.SpecOf(m, e.SameCluster())
	lo := world.SetOf(m, source, nil).Start
	var findings []plan.Finding
	for _, side := range []struct {
		endpoint.Endpoint
		set  *appsv1.StatefulSet
		asks bool
	}{{e.Source, source, spec.Order == api.LowestFirst}, {e.Destination, destination, spec.BeginsAbove(lo)}} {
		if side.set == nil || !side.asks {
			continue
		}
		finding, err := startOrdinalSupported(ctx, side.Endpoint)
		if err != nil {
			return nil, err
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

// startOrdinalSupported dry-runs whether the API server of a StatefulSet keeps spec.ordinals. Some kinds always do.
func startOrdinalSupported(ctx context.Context, at endpoint.Endpoint) (*plan.Finding, error) {
	if at.Kind().KeepsStart() {
		return nil, nil
	}
	_, finding, err := patched(ctx, at, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Ordinals: &appsv1.StatefulSetOrdinals{Start: 1}}})
	return finding, err
}

func startsAt(set *appsv1.StatefulSet, start int32) bool {
	return set.Spec.Ordinals != nil && set.Spec.Ordinals.Start == start
}

func unnumbered(at endpoint.Endpoint) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("the API server of cluster %s does not keep spec.ordinals.start of a StatefulSet: its slice would begin with ordinal 0, whatever it is given", at.Cluster),
		Remedy:  "use a cluster of Kubernetes 1.27 or newer, with the feature StatefulSetStartOrdinal, or our own kind there: apiVersion " + workload.SliceVersion,
	}
}

func firstEffects(at endpoint.Endpoint, source, destination *appsv1.StatefulSet) []plan.Effect {
	var effects []plan.Effect
	if source.Spec.ServiceName != "" {
		effects = append(effects, plan.Effect{Verb: plan.CreateService, Name: source.Spec.ServiceName})
	}
	if destination == nil {
		effects = append(effects, plan.Effect{Verb: plan.CreateSet, Name: at.Set, After: plan.SetState{Start: 1}})
	}
	return effects
}

// makesNamespace reports whether the move creates the destination's namespace. If that may not be read, it reports
// false.
func (e *Inspector) makesNamespace(ctx context.Context, m *api.Migration) (bool, error) {
	if !m.Spec.Destination.CreateNamespace {
		return false, nil
	}
	there, err := endpoint.Get[corev1.Namespace](ctx, e.Destination.Live, client.ObjectKey{Name: e.Destination.Namespace})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return there == nil, err
}

// firstClaims returns the claims of the first ordinal that moves.
func (e *Inspector) firstClaims(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]client.Object, error) {
	ordinals := movingOrdinals(m, source)
	if len(ordinals) == 0 || len(source.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	known := *e
	var err error
	if known.moving, err = e.claimed(ctx, m, source); err != nil {
		return nil, err
	}
	if known.claims, err = e.claiming(ctx, known.moving); err != nil {
		return nil, err
	}
	return known.claimsOf(ctx, m, world.Forms(m), source, ordinals[0])
}

// claimsOf returns the claims that an ordinal gets at the destination, and their volumes if these are created there.
func (e *Inspector) claimsOf(ctx context.Context, m *api.Migration, forms map[string]volumes.Form, source *appsv1.StatefulSet, ordinal int32) ([]client.Object, error) {
	var objects []client.Object
	for _, template := range world.ClaimTemplates(source) {
		claim, err := e.claimNamed(ctx, plan.ClaimName(template, source.Name, ordinal))
		if err != nil {
			return nil, err
		}
		if claim == nil || claim.Spec.VolumeName == "" {
			continue // the claims have their own check
		}
		ref := volumes.Ref{Namespace: e.Destination.Namespace, Name: plan.ClaimName(template, e.Destination.Set, ordinal)}
		form := forms[template]
		if startsAnew(m, template) {
			objects = append(objects, volumes.CopyClaim(claim, ref, "", m.UID, form))
			continue
		}
		objects = append(objects, volumes.CopyClaim(claim, ref, claim.Spec.VolumeName, m.UID, form))
		if e.SameCluster() {
			continue
		}
		volume, err := e.volumeNamed(ctx, claim.Spec.VolumeName)
		if err != nil {
			return nil, err
		}
		if volume != nil {
			objects = append(objects, volumes.CopyVolume(volume, volume.Name, volumes.Parked(ref), m.UID, form))
		}
	}
	return objects, nil
}

// claimNamed returns a claim of the source, from the known ones or read now; nil if it does not exist.
func (e *Inspector) claimNamed(ctx context.Context, name string) (*corev1.PersistentVolumeClaim, error) {
	for i := range e.claims {
		if e.claims[i].Name == name {
			return &e.claims[i], nil
		}
	}
	return endpoint.Get[corev1.PersistentVolumeClaim](ctx, e.Source.Live, e.Source.Key(name))
}

// volumeNamed returns a volume in the same way.
func (e *Inspector) volumeNamed(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	for i := range e.moving {
		if e.moving[i].Name == name {
			return &e.moving[i], nil
		}
	}
	return endpoint.Get[corev1.PersistentVolume](ctx, e.Source.Live, client.ObjectKey{Name: name})
}

// wayIn returns the remedy for an object that was refused.
func wayIn(at endpoint.Endpoint, object client.Object) string {
	const remedy = "find the admission policy, webhook or limit there, and let it allow the object"
	if _, is := object.(*corev1.Namespace); is {
		return remedy + "; or create it as the policy wants it, and begin then: " + at.Kubectl().Do("create", "namespace", object.GetName())
	}
	return remedy
}

// rehearsal returns the finding for the answer to a dry-run creation. Other checks cover an object that exists, or
// whose namespace does not exist yet.
func rehearsal(at endpoint.Endpoint, object client.Object, err error) (*plan.Finding, error) {
	kind, key := strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1."), client.ObjectKeyFromObject(object).String()
	if raw, untyped := object.(*unstructured.Unstructured); untyped {
		kind, key = raw.GetKind(), strings.TrimPrefix(key, "/")
	}
	return refusalOf(at, fmt.Sprintf("%s %s in cluster %s", kind, key, at.Cluster), object, err)
}

// refusalOf returns the finding for the answer to the dry run of a write of an object. what names the write.
func refusalOf(at endpoint.Endpoint, what string, object client.Object, err error) (*plan.Finding, error) {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run"):
		return &plan.Finding{
			Reason: api.ReasonWriteRefused, Object: what, Warning: true,
			Message: fmt.Sprintf("cannot dry-run %s: %s", what, endpoint.OneLine(err)),
		}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &plan.Finding{
			Reason: api.ReasonNamespaceMissing, Object: "namespace " + at.Namespace,
			Message: fmt.Sprintf("namespace %s in cluster %s is being deleted: nothing can be created in it", at.Namespace, at.Cluster),
			Remedy:  "wait until it is deleted; to see what blocks it: " + at.Kubectl().Do("get", "namespace", at.Namespace, "-o", "yaml") + "; or name another one",
		}, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsInternalError(err):
		return &plan.Finding{
			Reason: api.ReasonWriteRefused, Object: what,
			Message: fmt.Sprintf("%s would be refused: %s", what, endpoint.OneLine(err)),
			Remedy:  wayIn(at, object),
		}, nil
	}
	return nil, err
}

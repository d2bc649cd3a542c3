package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Needs lists the objects that the pods of a source need, other than their volumes.
type Needs struct {
	// References lists all of them, in the order in which they are copied.
	References []dependencies.Reference
	// Origins holds those that exist in the source's namespace, by their reference.
	Origins map[Named]*unstructured.Unstructured
}

// Named identifies an object in its namespace.
type Named struct{ Kind, Name string }

func namedBy(ref dependencies.Reference) Named { return Named{ref.Kind, ref.Name} }

// WayOf describes the move of copies for pods that run under a ServiceAccount.
func WayOf(sides *endpoint.Pair, account string) dependencies.Way {
	return dependencies.Way{
		From:    dependencies.Place{Namespace: sides.Source.Namespace, Set: sides.Source.Set},
		To:      dependencies.Place{Namespace: sides.Destination.Namespace, Set: sides.Destination.Set},
		Account: account,
	}
}

func (r CopyReader) wayOf(set *appsv1.StatefulSet) dependencies.Way {
	return WayOf(r.Pair, dependencies.AccountOf(set.Spec.Template.Spec))
}

// needsReader reads the dependencies of the source's pods.
type needsReader struct {
	at  endpoint.Endpoint
	set *appsv1.StatefulSet

	mu    sync.Mutex
	refs  []dependencies.Reference
	found map[Named]*unstructured.Unstructured
}

// ReadNeeds finds the dependencies of the source's pods: the objects that their template references, directly or
// indirectly, the rights of their ServiceAccount, and the objects that select the pods.
func ReadNeeds(ctx context.Context, at endpoint.Endpoint, set *appsv1.StatefulSet) (Needs, error) {
	r := &needsReader{at: at, set: set, found: map[Named]*unstructured.Unstructured{}}
	spec := set.Spec.Template.Spec
	account := dependencies.Reference{Kind: dependencies.ServiceAccount, Name: dependencies.AccountOf(spec), From: "the pods' account", Optional: spec.ServiceAccountName == ""}
	templates := ClaimTemplates(set)
	begin := dependencies.Together(dependencies.Walk(spec, templates), dependencies.SharedClaims(spec, templates), []dependencies.Reference{account})
	err := endpoint.Together(
		func() error { return r.read(ctx, begin) },
		func() error {
			return r.list(ctx, dependencies.RoleBinding, func(o *unstructured.Unstructured) bool { return dependencies.Reaches(o, account.Name) })
		},
		func() error { return r.list(ctx, dependencies.Service, r.selects) },
		func() error { return r.list(ctx, dependencies.NetworkPolicy, r.selects) },
	)
	if err != nil {
		return Needs{}, err
	}
	var further []dependencies.Reference
	for _, object := range r.found {
		further = append(further, dependencies.Further(object)...)
	}
	if err := r.read(ctx, further); err != nil {
		return Needs{}, err
	}
	needs := Needs{References: r.needed(), Origins: r.found}
	if len(needs.References) > mostNeeds {
		return Needs{}, fmt.Errorf("the pods of %s need %d objects: more than %d are not copied", at.Object(), len(needs.References), mostNeeds)
	}
	return needs, nil
}

// needed returns all references, except to optional objects that do not exist, and to an account of which nothing
// would be copied.
func (r *needsReader) needed() []dependencies.Reference {
	way := dependencies.Way{Account: dependencies.AccountOf(r.set.Spec.Template.Spec)}
	return slices.DeleteFunc(dependencies.Together(r.refs), func(ref dependencies.Reference) bool {
		kind, _ := dependencies.KindOf(ref.Kind)
		origin := r.found[namedBy(ref)]
		return kind.Copied && ref.Optional && (origin == nil || dependencies.Bare(dependencies.Clean(origin, way)))
	})
}

// mostNeeds limits the objects that are read for one migration, because the cluster that answers is not trusted.
const mostNeeds = 500

// read reads the objects that are copied; the others are only looked up at the destination.
func (r *needsReader) read(ctx context.Context, refs []dependencies.Reference) error {
	r.add(nil, refs...)
	if len(refs) > mostNeeds {
		return fmt.Errorf("the pods of %s need %d objects: more than %d are not copied", r.at.Object(), len(refs), mostNeeds)
	}
	var reads []func() error
	for _, ref := range refs {
		kind, _ := dependencies.KindOf(ref.Kind)
		if !kind.Copied || r.has(ref) {
			continue
		}
		reads = append(reads, func() error {
			object, err := r.at.Dependency(ctx, kind, ref.Name, kind.Versions...)
			if object != nil {
				r.add(object)
			}
			return err
		})
	}
	return endpoint.Together(reads...)
}

// list reads the objects of a kind that belong to the pods.
func (r *needsReader) list(ctx context.Context, name string, wanted func(*unstructured.Unstructured) bool) error {
	kind, _ := dependencies.KindOf(name)
	objects, err := r.at.Dependents(ctx, kind)
	for i := range objects {
		object := &objects[i]
		object.SetGroupVersionKind(kind.GroupKind().WithVersion(kind.Versions[0])) // a list may leave it out
		if wanted(object) {
			r.add(object, dependencies.Reference{Kind: name, Name: object.GetName(), From: "StatefulSet " + r.set.Name})
		}
	}
	return err
}

func (r *needsReader) has(ref dependencies.Reference) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found[namedBy(ref)] != nil
}

func (r *needsReader) add(object *unstructured.Unstructured, refs ...dependencies.Reference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs = append(r.refs, refs...)
	if object != nil {
		r.found[Named{object.GetKind(), object.GetName()}] = object
	}
}

// selects reports whether a Service or a NetworkPolicy selects pods of the set. The governing Service, and Services
// that a migration created for single ordinals, are not copied in this way.
func (r *needsReader) selects(object *unstructured.Unstructured) bool {
	_, made := object.GetAnnotations()[api.OwnerAnnotationKey]
	governing := object.GetKind() == dependencies.Service && object.GetName() == r.set.Spec.ServiceName
	return !made && !governing && dependencies.Selects(dependencies.Selector(object), r.set.Name, r.set.Spec.Template.Labels)
}

// CopyReader compares the dependencies of the pods with the objects at the destination.
type CopyReader struct {
	*endpoint.Pair
	Owner types.UID
	// Policy decides which volumes may be created at the destination.
	Policy volumes.Policy
	// Withheld lists the Secrets of the source's namespace that the Migration itself uses.
	Withheld []string
}

// NewCopyReader returns a reader of the dependencies of a Migration.
func NewCopyReader(sides *endpoint.Pair, m *api.Migration, policy volumes.Policy) CopyReader {
	return CopyReader{Pair: sides, Owner: m.UID, Policy: policy, Withheld: m.OwnSecrets(sides.Source.Namespace, m.Spec.Source.KubeConfigSecretRef)}
}

// Read reads all objects that are copied, on both sides.
func (r CopyReader) Read(ctx context.Context, set *appsv1.StatefulSet, needs Needs) ([]plan.Dependency, error) {
	barred, err := r.storage(ctx, &needs)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[Named]plan.Dependency{}
	var reads []func() error
	for _, ref := range needs.References {
		if kind, _ := dependencies.KindOf(ref.Kind); !kind.Copied {
			continue
		}
		reads = append(reads, func() error {
			d, err := r.compare(ctx, set, ref, needs.Origins[namedBy(ref)])
			mu.Lock()
			defer mu.Unlock()
			found[namedBy(ref)] = d
			return err
		})
	}
	err = endpoint.Together(reads...)
	list := make([]plan.Dependency, 0, len(found))
	for _, ref := range needs.References {
		if d, copied := found[namedBy(ref)]; copied {
			if d.Storage {
				d.Barred = barred[namedBy(ref)]
			}
			list = append(list, d)
		}
	}
	return list, err
}

// compare returns the state of one dependency on both sides.
func (r CopyReader) compare(ctx context.Context, set *appsv1.StatefulSet, ref dependencies.Reference, origin *unstructured.Unstructured) (plan.Dependency, error) {
	kind, _ := dependencies.KindOf(ref.Kind)
	d := plan.Dependency{Kind: ref.Kind, Name: ref.Name, From: ref.From, Storage: kind.Storage, ClusterWide: kind.Cluster}
	version, err := r.CommonVersion(kind)
	if err != nil {
		return d, err
	}
	if version == "" {
		d.Unserved, d.Versions = true, strings.Join(kind.Versions, ", ")
	}
	if origin != nil && version != "" && origin.GroupVersionKind().Version != version {
		origin, err = r.Source.Dependency(ctx, kind, ref.Name, version)
	}
	if err != nil {
		return d, err
	}
	var there *unstructured.Unstructured
	if version != "" {
		there, err = r.Destination.Dependency(ctx, kind, ref.Name, version)
	}
	if err != nil {
		return d, err
	}
	way := r.wayOf(set)
	var wanted *unstructured.Unstructured
	if origin != nil {
		wanted = dependencies.Clean(origin, way)
		d.Origin, d.KeptBy = dependencies.Hash(wanted), keeperOf(origin)
	}
	refused := r.refused(origin, way.Account)
	if there == nil {
		d.Barred = refused
		d.SelectsOthers, err = r.stranger(ctx, origin)
		return d, err
	}
	d.Copy = r.copyOf(there, way)
	if refused.Reason != "" { // never copied, so it is not compared with the destination's own object
		d.Origin = ""
		return d, nil
	}
	if wanted != nil && d.Copy.Hash != d.Origin {
		d.Difference, d.Rigid = dependencies.Difference(dependencies.Clean(there, way.Home()), wanted), dependencies.Rigid(there, wanted)
	}
	return d, nil
}

// refused returns why an object is not copied at all; zero if it is.
func (r CopyReader) refused(origin *unstructured.Unstructured, account string) volumes.Reason {
	if origin == nil {
		return volumes.Reason{}
	}
	why := dependencies.Refused(origin, account)
	if origin.GetKind() == dependencies.Secret && slices.Contains(r.Withheld, origin.GetName()) {
		why = "holds credentials that the Migration itself uses, and these are not copied"
	}
	if why == "" {
		return volumes.Reason{}
	}
	return volumes.Reason{
		Reason:  api.ReasonDependencyNotCopied,
		Message: fmt.Sprintf("%s %s/%s, which the pods need, %s", origin.GetKind(), origin.GetNamespace(), origin.GetName(), why),
		Remedy:  "take it out of the pod template, or create a Secret of that name at the destination yourself; to see it: " + r.Source.Kubectl().Do("get", "secret", "-n", origin.GetNamespace(), origin.GetName()),
	}
}

// writers lists the annotations with which tools mark the objects that they write, and the origin of these objects.
var writers = []struct{ annotation, from string }{
	{"cert-manager.io/certificate-name", "Certificate"},
	{"reflector.v1.k8s.emberstack.com/reflects", "the reflected"},
	{"replicator.v1.mittwald.de/replicated-from-version", "the replicator of"},
	{"replicator.v1.mittwald.de/replicate-from", "the replicated"},
	{"secrets.hashicorp.com/vso-owner", "the Vault Secrets Operator's"},
	{"sealedsecrets.bitnami.com/managed", "SealedSecret"},
}

// owners lists the kinds of owners that write the objects that they own without being the controller.
var owners = []string{"Certificate", "ExternalSecret", "SealedSecret", "VaultStaticSecret", "VaultDynamicSecret", "VaultPKISecret", "OnePasswordItem", "InfisicalSecret"}

// keeperOf returns the object that an object is generated from, such as the ExternalSecret of a Secret. A copy would
// not be updated by it.
func keeperOf(origin *unstructured.Unstructured) string {
	if owner := metav1.GetControllerOf(origin); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for _, owner := range origin.GetOwnerReferences() {
		if slices.Contains(owners, owner.Kind) {
			return owner.Kind + " " + owner.Name
		}
	}
	for _, writer := range writers {
		switch value := origin.GetAnnotations()[writer.annotation]; value {
		case "":
		case "true":
			return writer.from + " " + origin.GetName()
		default:
			return writer.from + " " + value
		}
	}
	return ""
}

// contents lists the fields of dependencies that a foreign writer may own, in the notation of managed fields.
var contents = []string{
	`"f:data"`, `"f:binaryData"`, `"f:immutable"`, `"f:type"`, `"f:spec"`, `"f:parameters"`, `"f:rules"`, `"f:subjects"`, `"f:roleRef"`,
	`"f:imagePullSecrets"`, `"f:automountServiceAccountToken"`, `"f:annotations"`,
}

// copyOf returns the view of an object of the destination as a copy. Other writers matter only if its content differs
// from the copied content, because an API server may store another form than it receives.
func (r CopyReader) copyOf(there *unstructured.Unstructured, way dependencies.Way) plan.Copy {
	owner := there.GetLabels()[api.OwnerLabelKey]
	c := plan.Copy{
		Found: true, UID: there.GetUID(), ResourceVersion: there.GetResourceVersion(), Terminating: there.GetDeletionTimestamp() != nil, Keeps: volumes.KeepersOf(there),
		Hash: dependencies.Hash(dependencies.Clean(there, way.Home())), Ours: owner == string(r.Owner), Anothers: owner != "" && owner != string(r.Owner),
	}
	switch there.GetKind() {
	case dependencies.PersistentVolumeClaim:
		c.Unbound = text(there, "status", "phase") != string(corev1.ClaimBound)
	case dependencies.PersistentVolume:
		c.Releases = text(there, "spec", "persistentVolumeReclaimPolicy") != string(corev1.PersistentVolumeReclaimRetain)
	}
	mark := dependencies.ParseMark(there.GetAnnotations()[api.OriginAnnotationKey])
	namespace := way.From.Namespace
	if there.GetNamespace() == "" {
		namespace = ""
	}
	if !mark.Of(r.Source.ID, namespace, there.GetName()) {
		return c
	}
	c.Marked, c.Copied, c.PutBack = true, mark.Hash, mark.PutBack
	if c.Hash != mark.Hash {
		c.EditedBy = foreignWriter(there.GetManagedFields(), there.GetCreationTimestamp().Time, contents...)
	}
	return c
}

// stranger returns a pod of another application that a Service or a NetworkPolicy would select at the destination.
// Pods that it selects at the source do not matter.
func (r CopyReader) stranger(ctx context.Context, origin *unstructured.Unstructured) (string, error) {
	if origin == nil {
		return "", nil
	}
	selector := dependencies.Selector(origin)
	if selector == nil {
		return "", nil
	}
	pods, err := podsSelected(ctx, r.Destination, selector)
	if err != nil {
		return "", err
	}
	if name := dependencies.Stranger(selector, r.Destination.Set, pods); name != "" {
		return r.Destination.Namespace + "/" + name + " in cluster " + r.Destination.Cluster, nil
	}
	return "", nil
}

func podsSelected(ctx context.Context, at endpoint.Endpoint, selector labels.Selector) ([]corev1.Pod, error) {
	reader := client.Reader(at.Live)
	if at.Cached != nil {
		reader = at.Cached
	}
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(at.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return pods.Items, err
}

// Made lists the copies that the migration has created.
func (r CopyReader) Made(ctx context.Context, set *appsv1.StatefulSet) ([]plan.Dependency, error) {
	way := r.wayOf(set)
	var mu sync.Mutex
	made := map[string][]plan.Dependency{}
	var reads []func() error
	for _, kind := range dependencies.Copied() {
		reads = append(reads, func() error {
			objects, err := r.Destination.Dependents(ctx, kind, client.MatchingLabels{api.OwnerLabelKey: string(r.Owner)})
			mu.Lock()
			defer mu.Unlock()
			for i := range objects {
				objects[i].SetGroupVersionKind(kind.GroupKind().WithVersion(kind.Versions[0]))
				made[kind.Name] = append(made[kind.Name], plan.Dependency{
					Kind: kind.Name, Name: objects[i].GetName(), Storage: kind.Storage, ClusterWide: kind.Cluster, Copy: r.copyOf(&objects[i], way),
				})
			}
			return err
		})
	}
	var used map[Named]string
	reads = append(reads, func() (err error) {
		used, err = usedThere(ctx, r.Destination)
		return err
	})
	err := endpoint.Together(reads...)
	var list []plan.Dependency
	for _, kind := range dependencies.Copied() {
		list = append(list, made[kind.Name]...)
	}
	for i := range list {
		list[i].Copy.UsedBy = used[Named{list[i].Kind, list[i].Name}]
	}
	return list, err
}

// again reads the stale dependencies again and keeps the others. In a rollback their origins are not read.
func (r CopyReader) again(ctx context.Context, set *appsv1.StatefulSet, known copies) ([]plan.Dependency, error) {
	list := slices.Clone(known.list)
	for i := range list {
		d := &list[i]
		if !known.stale[Named{d.Kind, d.Name}] {
			continue
		}
		var origin *unstructured.Unstructured
		var err error
		if kind, _ := dependencies.KindOf(d.Kind); !known.back {
			origin, err = r.Source.Dependency(ctx, kind, d.Name, kind.Versions...)
		}
		if err != nil {
			return nil, err
		}
		barred := d.Barred
		if *d, err = r.compare(ctx, set, dependencies.Reference{Kind: d.Kind, Name: d.Name, From: d.From}, origin); err != nil {
			return nil, err
		}
		if d.Storage {
			d.Barred = barred
		}
	}
	return list, nil
}

// staleOf returns the stale names, including those that the effect is about to write.
func staleOf(stale map[Named]bool, effect plan.Effect) map[Named]bool {
	stale = maps.Clone(stale)
	if stale == nil {
		stale = map[Named]bool{}
	}
	stale[Named{effect.Kind, effect.Name}] = true
	return stale
}

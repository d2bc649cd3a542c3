package preflight

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight/scheduling"
	"github.com/sliceshift/sliceshift/migration/preflight/storage"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// arrivalChecks repeats, right before the stop of an ordinal, the checks whose results may have changed since the
// start of the move.
type arrivalChecks struct {
	// Inspector is directed at the taker: its source is the giver, and it has read the volumes of this ordinal only.
	*Inspector
	about world.Arriving
	// set is the StatefulSet whose controller creates the pod, and forms are the forms of the taker's claims.
	set   *appsv1.StatefulSet
	forms map[string]volumes.Form
}

// LetsIn returns why an ordinal would not run at the side that takes it; nil if nothing is found. It dry-runs the
// creation of the ordinal's pod, claims and volumes, and of the objects that copy them. It also checks their classes,
// drivers and nodes. In place, it dry-runs the stop as well.
func (e *Inspector) LetsIn(ctx context.Context, about world.Arriving) (*plan.Finding, error) {
	c := e.toward(about)
	if about.Migration.Spec.Storage != nil {
		return c.inPlace(ctx) // its copies are made before its stop
	}
	if err := c.complete(ctx); err != nil {
		return nil, err
	}
	var found [4]*plan.Finding
	err := endpoint.Together(
		func() (err error) { found[0], err = c.pod(ctx); return err },
		func() (err error) { found[1], err = c.claimsToCome(ctx); return err },
		func() (err error) { found[2], err = c.movers(ctx); return err },
		func() (err error) { found[3], err = c.cluster(ctx); return err },
	)
	for _, finding := range found {
		if finding != nil {
			return finding, nil
		}
	}
	return nil, err
}

func (e *Inspector) toward(about world.Arriving) arrivalChecks {
	pair := *e.Pair
	c := arrivalChecks{about: about, set: about.Set, forms: world.Forms(about.Migration)}
	if about.To == plan.SourceSide {
		pair.Source, pair.Destination = pair.Destination, pair.Source
		c.forms = map[string]volumes.Form{}
	}
	if c.set == nil {
		c.set = about.From
	}
	c.Inspector = &Inspector{Pair: &pair, Clock: e.Clock, Policy: e.Policy, Connections: e.Connections, moving: about.Volumes, claims: about.Claims, shared: &shared{}}
	return c
}

// complete reads the claims and volumes of the ordinal that are not known yet.
func (c arrivalChecks) complete(ctx context.Context) error {
	for _, template := range world.ClaimTemplates(c.about.From) {
		name := plan.ClaimName(template, c.about.From.Name, c.about.Ordinal)
		claim, err := c.claimNamed(ctx, name)
		if claim == nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if !slices.ContainsFunc(c.claims, func(known corev1.PersistentVolumeClaim) bool { return known.Name == name }) {
			c.claims = append(c.claims, *claim)
		}
		if claim.Spec.VolumeName == "" {
			continue
		}
		volume, err := c.volumeNamed(ctx, claim.Spec.VolumeName)
		if err != nil {
			return err
		}
		if volume != nil && !slices.ContainsFunc(c.moving, func(known corev1.PersistentVolume) bool { return known.Name == volume.Name }) {
			c.moving = append(c.moving, *volume)
		}
	}
	return nil
}

// standing returns the first finding that is not a warning.
func standing(findings []plan.Finding, err error) (*plan.Finding, error) {
	for i := range findings {
		if !findings[i].Warning {
			return &findings[i], err
		}
	}
	return nil, err
}

// pod dry-runs the creation of the ordinal's pod. A missing right to create pods is no finding, because the
// StatefulSet controller creates them. Within one namespace an exceeded quota is none either, because the stopped pod
// frees its share.
func (c arrivalChecks) pod(ctx context.Context) (*plan.Finding, error) {
	at := c.Destination
	pod := podOf(at, c.set, c.about.Ordinal)
	err := at.Live.Create(ctx, pod, client.DryRunAll)
	within := c.SameCluster() && c.Source.Namespace == at.Namespace
	if err != nil && (endpoint.LacksRight(err) || within && endpoint.OverQuota(err)) {
		return nil, nil
	}
	return only(rehearsal(at, pod, err))
}

// only returns the finding unless it is a warning.
func only(finding *plan.Finding, err error) (*plan.Finding, error) {
	if finding == nil {
		return nil, err
	}
	return standing([]plan.Finding{*finding}, err)
}

// created dry-runs a creation. If no stop depends on the answer, a missing right is no finding, because the mover may
// have it.
func (c arrivalChecks) created(ctx context.Context, at endpoint.Endpoint, object client.Object) (*plan.Finding, error) {
	raw, err := endpoint.UnstructuredOf(at, object)
	if err != nil {
		return nil, err
	}
	err = at.Live.Create(ctx, raw, client.DryRunAll)
	if c.about.Looks && err != nil && endpoint.LacksRight(err) {
		return nil, nil
	}
	return only(rehearsal(at, object, err))
}

// claimsToCome dry-runs the claims and volumes that the taker does not have yet for the ordinal.
func (c arrivalChecks) claimsToCome(ctx context.Context) (*plan.Finding, error) {
	objects, err := c.claimsOf(ctx, c.about.Migration, c.forms, c.about.From, c.about.Ordinal)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if _, claim := object.(*corev1.PersistentVolumeClaim); claim && c.about.There[object.GetName()] {
			continue
		}
		if finding, err := c.created(ctx, c.Destination, object); finding != nil || err != nil {
			return finding, err
		}
	}
	return nil, nil
}

// movers dry-runs the objects that fill second volumes for the ordinal, unless filling has started.
func (c arrivalChecks) movers(ctx context.Context) (*plan.Finding, error) {
	for _, asked := range c.about.Migration.VolumesAsAccepted() {
		if !asked.Method.FillsSecond() || c.fills(asked.ClaimTemplate) {
			continue
		}
		all, err := c.fillers(ctx, c.about.Migration, asked, c.forms[asked.ClaimTemplate], c.about.From, c.about.Ordinal)
		if err != nil {
			return nil, err
		}
		for _, each := range all {
			if finding, err := c.created(ctx, each.at, each.object); finding != nil || err != nil {
				return finding, err
			}
		}
	}
	return nil, nil
}

// fills reports whether a second volume is being filled for a claim of the ordinal. The objects for it exist then.
func (c arrivalChecks) fills(template string) bool {
	record := world.RecordOf(c.about.Migration)
	if record.Handoff == nil || record.Handoff.Ordinal != c.about.Ordinal {
		record = planner.AsHandoff(record, c.about.Ordinal)
	}
	return record.Handoff.Volume(template).Copy.Number > 0
}

// cluster checks classes, named objects, drivers and nodes. Objects that may not be read are not checked.
func (c arrivalChecks) cluster(ctx context.Context) (*plan.Finding, error) {
	for _, check := range []func(context.Context) (*plan.Finding, error){c.classes, c.named, c.drivers, c.node} {
		finding, err := check(ctx)
		if apierrors.IsForbidden(err) {
			continue
		}
		if finding != nil || err != nil {
			return finding, err
		}
	}
	return nil, nil
}

// newClaims returns the claims of the ordinal for which the taker gets new volumes that do not exist yet.
func (c arrivalChecks) newClaims() []corev1.PersistentVolumeClaim {
	var found []corev1.PersistentVolumeClaim
	for i := range c.claims {
		template := templateOf(c.about.From, c.claims[i].Name)
		if startsAnew(c.about.Migration, template) && !c.fills(template) && !c.about.There[plan.ClaimName(template, c.Destination.Set, c.about.Ordinal)] {
			found = append(found, c.claims[i])
		}
	}
	return found
}

// classes checks the storage classes of the new volumes of the ordinal.
func (c arrivalChecks) classes(ctx context.Context) (*plan.Finding, error) {
	anew := &appsv1.StatefulSet{}
	asked := storage.Asked{Forms: c.forms, Anew: map[string]bool{}}
	for _, claim := range c.newClaims() {
		template := templateOf(c.about.From, claim.Name)
		asked.Anew[template] = true
		anew.Spec.VolumeClaimTemplates = append(anew.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template, Annotations: claim.Annotations}, Spec: claim.Spec})
	}
	if len(asked.Anew) == 0 {
		return nil, nil
	}
	classes, err := c.storageClasses(ctx)
	if err != nil {
		return nil, err
	}
	return standing(storage.Classes(c.Destination, anew, classes, asked), nil)
}

// admitted are the kinds of objects that admission looks up when the pod is dry-run (kubernetes plugin/pkg/admission:
// priority, runtimeclass, serviceaccount).
var admitted = []string{dependencies.PriorityClass, dependencies.RuntimeClass, dependencies.ServiceAccount}

// named looks up once more the objects that the ordinal's pod and its new claims name. It leaves out those that the dry
// run of the pod covers, and copies, which the planner keeps.
func (c arrivalChecks) named(ctx context.Context) (*plan.Finding, error) {
	spec, templates := c.set.Spec.Template.Spec, world.ClaimTemplates(c.set)
	copies := c.about.To == plan.DestinationSide && c.copies(c.about.Migration)
	refs := append(dependencies.Walk(spec, templates), dependencies.SharedClaims(spec, templates)...)
	needs := needed(refs, func(kind dependencies.Kind) bool {
		return !slices.Contains(admitted, kind.Name) && (!copies || !kind.Copied)
	})
	claims, err := c.namedByClaims(ctx, c.newClaims(), c.forms, c.about.From)
	if err != nil {
		return nil, err
	}
	claims = slices.DeleteFunc(claims, func(n need) bool { return n.later })
	return standing(c.missing(ctx, append(needs, claims...)))
}

// carried returns the volumes that move to the taker.
func (c arrivalChecks) carried() []corev1.PersistentVolume {
	var found []corev1.PersistentVolume
	for i := range c.moving {
		if ref := c.moving[i].Spec.ClaimRef; ref != nil && !startsAnew(c.about.Migration, templateOf(c.about.From, ref.Name)) {
			found = append(found, c.moving[i])
		}
	}
	return found
}

// drivers checks the CSI drivers of the volumes that move to the taker.
func (c arrivalChecks) drivers(ctx context.Context) (*plan.Finding, error) {
	if c.SameCluster() {
		return nil, nil
	}
	return standing(c.Inspector.drivers(ctx, c.carried()))
}

// nodesFor is the maximum age of a node list from which the node of a positive answer is chosen.
const nodesFor = 15 * time.Second

// node looks for a node that can take the pod with its volumes. A positive answer requires that one such node, read now,
// still can. Otherwise all nodes are listed now.
func (c arrivalChecks) node(ctx context.Context) (*plan.Finding, error) {
	c.nodesWithin = clusters.NodesWithin(nodesFor)
	finding, err := c.fits(ctx)
	if finding == nil && err == nil {
		return nil, nil
	}
	if err != nil && !errors.Is(err, errNodeChanged) {
		return nil, err
	}
	now := *c.Inspector
	now.nodesWithin, now.shared = 0, &shared{}
	c.Inspector = &now
	return c.fits(ctx)
}

// fits looks for a node in the list.
func (c arrivalChecks) fits(ctx context.Context) (*plan.Finding, error) {
	demand := scheduling.Demand{
		Object: c.Destination.Object(), Cluster: c.Destination.Cluster, Kubectl: c.Destination.Kubectl(), Namespace: c.Destination.Namespace, Template: c.set.Spec.Template, Pods: 1,
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	fitting, found := scheduling.Fit(demand, nodes)
	if len(fitting) == 0 {
		return standing(found, nil)
	}
	pvs := c.bound()
	if err := c.stillFits(ctx, demand, fitting, pvs); err != nil {
		return nil, err
	}
	finding, err := standing(c.alone(ctx, demand))
	if finding == nil && err == nil {
		finding, err = standing(c.apartFromVolume(demand, pvs, nodes, fitting), nil)
	}
	if finding != nil || err != nil || len(pvs) == 0 {
		return finding, err
	}
	if c.SameCluster() {
		return nil, nil // the volume is attached there, and is detached after the stop
	}
	return standing(c.hosts(ctx, pvs))
}

// errNodeChanged reports that a node of the kept list can no longer take the pod.
var errNodeChanged = errors.New("the node has changed since it was listed")

// stillFits reads the first node that fits and reaches the volumes again, if the nodes are from a kept list.
func (c arrivalChecks) stillFits(ctx context.Context, demand scheduling.Demand, fitting []corev1.Node, pvs []corev1.PersistentVolume) error {
	fitting = reaching(fitting, pvs)
	if c.nodesWithin == 0 || len(fitting) == 0 {
		return nil
	}
	var now corev1.NodeList
	if err := c.Destination.Live.List(ctx, &now, client.MatchingFields{metav1.ObjectNameField: fitting[0].Name}); err != nil {
		return err
	}
	if left, _ := scheduling.Fit(demand, now.Items); len(reaching(left, pvs)) == 0 {
		return errNodeChanged
	}
	return nil
}

// reaching returns the nodes that match the node affinity of all volumes.
func reaching(nodes []corev1.Node, pvs []corev1.PersistentVolume) []corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(node corev1.Node) bool {
		return slices.ContainsFunc(pvs, func(pv corev1.PersistentVolume) bool { return volume.CheckNodeAffinity(&pv, node.Labels) != nil })
	})
}

// bound returns the volumes that move to the taker and restrict the pod to some nodes.
func (c arrivalChecks) bound() []corev1.PersistentVolume {
	var found []corev1.PersistentVolume
	for _, pv := range c.carried() {
		if driverOf(pv) != "" || pv.Spec.NodeAffinity != nil {
			found = append(found, pv)
		}
	}
	return found
}

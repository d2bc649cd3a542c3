package move

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/api/tolerant"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// asksAtOnce is the number of parallel requests.
const asksAtOnce = 6

// TestK0Decodes: the typed client decodes every object of our kinds that the API server accepts, and drops no
// field. The test writes garbage into every field of spec and status. It omits the CEL rules from the resource
// definition; with them the API server accepts no more.
func TestK0Decodes(t *testing.T) {
	at, err := cluster.Start(t.Context(), cluster.Options{Name: "decodes", Binary: binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Stop() })
	c, err := harness.Client(at)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		*crd.Spec.Versions[0].Schema.OpenAPIV3Schema = unruled(*crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	if err := fixture.InstallGiven(t.Context(), c, crds); err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) { newFeeder(t, at.RESTConfig(), crd).all() })
	}
}

// feeder writes garbage into objects of one kind.
type feeder struct {
	*testing.T
	client   rest.Interface
	resource string
	version  string
	kind     string
	root     apiextensionsv1.JSONSchemaProps
	taken    atomic.Int64
}

func newFeeder(t *testing.T, at *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) *feeder {
	at = rest.CopyConfig(at)
	at.QPS, at.WarningHandler = -1, rest.NoWarnings{}
	scheme, err := fixture.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	version := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name}
	hc, err := rest.HTTPClientFor(at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := apiutil.RESTClientForGVK(version.WithKind(crd.Spec.Names.Kind), false, false, at, serializer.NewCodecFactory(scheme), hc)
	if err != nil {
		t.Fatal(err)
	}
	root := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	root.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": root.Properties["spec"], "status": root.Properties["status"]}
	return &feeder{T: t, client: c, resource: crd.Spec.Names.Plural, version: version.String(), kind: crd.Spec.Names.Kind, root: root}
}

// all tests each field. Identical fields are tested once.
func (f *feeder) all() {
	f.create()
	var group sync.WaitGroup
	work := make(chan field)
	for range asksAtOnce {
		group.Go(func() {
			for each := range work {
				f.feed(each)
			}
		})
	}
	seen, count := map[string]bool{}, 0
	for _, each := range fieldsOf(f.root, nil)[1:] {
		alike, err := json.Marshal([]any{each.path[0] == "status", each.path[max(0, len(each.path)-2):], each.schema})
		if err != nil {
			f.Fatal(err)
		}
		if seen[string(alike)] {
			continue
		}
		seen[string(alike)] = true
		count++
		work <- each
	}
	close(work)
	group.Wait()
	f.Logf("%d fields that differ, %d values of them taken", count, f.taken.Load())
}

// create creates the object whose status is tested.
func (f *feeder) create() {
	f.Helper()
	root := f.root
	root.Required = []string{"spec"}
	if err := f.post(root, nil, nil, false); err != nil {
		f.Fatalf("not even a good object is taken: %v", err)
	}
}

// feed writes all values into a field. At least one value must be accepted, or the test proves nothing about
// the field.
func (f *feeder) feed(each field) {
	name, fits := strings.Join(each.path, "."), false
	for _, value := range each.values() {
		err := f.post(f.root, each.path, value, true)
		if refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err); refused {
			continue
		}
		if err != nil {
			f.Errorf("%s: %s is taken, and: %v", name, asText(value), err)
			continue
		}
		fits = true
		f.taken.Add(1)
	}
	if !fits {
		f.Errorf("%s: nothing is taken, so that nothing is proven of it", name)
	}
}

// post writes an object with a value at a path and decodes the answer.
func (f *feeder) post(root apiextensionsv1.JSONSchemaProps, path []string, value any, dry bool) error {
	object, _ := put(root, path, value).(map[string]any)
	if path == nil {
		object = required(root)
	}
	object["apiVersion"], object["kind"], object["metadata"] = f.version, f.kind, map[string]any{"name": "a", "namespace": "default"}
	request := f.client.Post()
	if len(path) > 0 && path[0] == "status" {
		delete(object, "spec")
		request = f.client.Patch(types.MergePatchType).Name("a").SubResource("status")
	} else if dry {
		object["spec"] = filled(root.Properties["spec"], object["spec"])
		object["metadata"] = map[string]any{"generateName": "b-", "namespace": "default"}
	}
	if dry {
		request = request.Param("dryRun", "All")
	}
	body, err := json.Marshal(object)
	if err != nil {
		f.Fatal(err)
	}
	result := request.Namespace("default").Resource(f.resource).SetHeader("Content-Type", contentType(path)).Body(body).Do(f.Context())
	if err := result.Error(); err != nil {
		return err
	}
	return f.decoded(result)
}

// filled returns the spec with all required fields, if it is an object.
func filled(of apiextensionsv1.JSONSchemaProps, spec any) any {
	given, isMap := spec.(map[string]any)
	if !isMap {
		return spec
	}
	for name, value := range required(of) {
		if _, has := given[name]; !has {
			given[name] = value
		}
	}
	return given
}

func contentType(path []string) string {
	if len(path) > 0 && path[0] == "status" {
		return string(types.MergePatchType)
	}
	return "application/json"
}

// decoded returns an error if the typed client drops a part of an answer or cannot decode it.
func (f *feeder) decoded(result rest.Result) error {
	var faults []tolerant.Fault
	var err error
	if f.kind == "Migration" {
		m := &api.Migration{}
		err = result.Into(m)
		faults = m.Unreadable
	} else {
		s := &sliceapi.StatefulSet{}
		err = result.Into(s)
		faults = s.Unreadable
	}
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("it does not decode: %v", faults)
	}
	return err
}

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return reflect.TypeOf(value).String()
	}
	return string(text)
}

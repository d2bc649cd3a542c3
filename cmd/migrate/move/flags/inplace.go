package flags

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// Names of the flags of a change in place.
const (
	InPlace      = "in-place"
	FromManifest = "from-manifest"

	flagMargin = "margin"
)

// inPlace holds the flags of a change of the storage of a StatefulSet in place.
type inPlace struct {
	on       bool
	manifest string
	margin   *int32
	// sets are the StatefulSets of the name in the manifest.
	sets []appsv1.StatefulSet
}

// addInPlace adds the flags of a change in place.
func (f *Spec) addInPlace(flags *pflag.FlagSet) {
	command.FlagGroup(flags, "Volumes", func() {
		flags.BoolVar(&f.inPlace.on, InPlace, false, "change the volumes of the StatefulSet itself, instead of a move; --volume is then "+inPlaceForm)
		flags.StringVar(&f.inPlace.manifest, FromManifest, "", "for --in-place: `FILE` with the StatefulSet's manifest; its claim templates are the wanted ones")
		flags.Var(marginOf(&f.inPlace.margin), flagMargin, "for --in-place: the share of a smaller volume that stays free, in percent")
	})
}

// inPlaceForm is the form of --volume in place.
const inPlaceForm = "TEMPLATE=class=CLASS,size=SIZE,attributes=CLASS,method=rebind|copy|snapshot, each optional, with the settings of the method"

// mostMargin is the limit of the resource definition, in percent.
const mostMargin = 90

func marginOf(field **int32) value[*int32] {
	const standard = "10"
	return value[*int32]{field, "percent", standard, func(text string) (*int32, error) {
		percent, err := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 32)
		if err != nil || percent < 0 || percent > mostMargin {
			return nil, command.Usagef("--%s must be a percentage from 0 to %d, not %q", flagMargin, mostMargin, text)
		}
		return new(int32(percent)), nil
	}}
}

// elsewhere lists the flags that only have a meaning for a move to another place.
var elsewhere = []string{
	ToKind, Count, flagSplitBudget, flagShared, flagCopy, flagOnConflict, flagOnChange, flagSelectsOthers, flagCleanCopies,
	ExportServices, ExportOrdinals, "create-namespace",
}

// storage returns spec.storage; nil for a move.
func (f *Spec) storage(source string) (*api.StorageSpec, error) {
	if f.inPlace.manifest != "" {
		f.inPlace.on = true
	}
	if !f.inPlace.on {
		if f.inPlace.margin != nil {
			return nil, command.Usagef("--%s is for --%s", flagMargin, InPlace)
		}
		return nil, nil //nolint:nilnil // nil is the API's "this is a move"
	}
	for _, flag := range elsewhere {
		if f.Given(flag) {
			return nil, command.Usagef("--%s is for a move, and --%s changes the StatefulSet where it is", flag, InPlace)
		}
	}
	var err error
	f.inPlace.sets, err = manifestSets(f.inPlace.manifest, source)
	return &api.StorageSpec{MarginPercent: f.inPlace.margin}, err
}

// Templates returns the claim templates of the manifest for a StatefulSet in a namespace; nil without a manifest. As kubectl
// does, it takes an object without a namespace, and none of another namespace.
func (f *Spec) Templates(namespace string) ([]corev1.PersistentVolumeClaim, error) {
	var there []appsv1.StatefulSet
	var others []string
	for _, set := range f.inPlace.sets {
		if set.Namespace == "" || set.Namespace == namespace {
			there = append(there, set)
		} else {
			others = append(others, set.Namespace)
		}
	}
	path := f.inPlace.manifest
	switch {
	case path == "":
		return nil, nil
	case len(there) == 0:
		return nil, command.Usagef("--%s %s has StatefulSet %s in namespace %s, and not in %s: give that namespace by --namespace", FromManifest, path, f.inPlace.sets[0].Name, strings.Join(others, ", "), namespace)
	case len(there) > 1:
		return nil, command.Usagef("--%s %s has StatefulSet %s %d times for namespace %s: leave one", FromManifest, path, there[0].Name, len(there), namespace)
	case len(there[0].Spec.VolumeClaimTemplates) == 0:
		return nil, command.Usagef("--%s %s: StatefulSet %s has no claim templates", FromManifest, path, there[0].Name)
	}
	return there[0].Spec.VolumeClaimTemplates, nil
}

// SetInPlace makes the flags those of a change in place.
func (f *Spec) SetInPlace() { f.inPlace.on = true }

// manifestSets returns the StatefulSets of a name in a file with any number of documents, of which there is at least one.
func manifestSets(path, name string) ([]appsv1.StatefulSet, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", FromManifest, err)
	}
	defer file.Close()
	var found []appsv1.StatefulSet
	var others []string
	const most = 4096
	for decoder := yaml.NewYAMLOrJSONDecoder(file, most); ; {
		var document json.RawMessage
		if err = decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		}
		var sets []appsv1.StatefulSet
		if err == nil {
			sets, err = statefulSets(document)
		}
		if err != nil {
			return nil, command.Usagef("--%s %s: %v", FromManifest, path, err)
		}
		for _, set := range sets {
			if set.Name == name {
				found = append(found, set)
			} else {
				others = append(others, set.Name)
			}
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(others) > 0:
		return nil, command.Usagef("--%s %s has no StatefulSet %s, only %s", FromManifest, path, name, strings.Join(others, ", "))
	}
	return nil, command.Usagef("--%s %s has no StatefulSet", FromManifest, path)
}

// statefulSets returns the StatefulSets of known kinds in a document, which may be a list. Documents of other kinds may have
// any form.
func statefulSets(document []byte) (all []appsv1.StatefulSet, err error) {
	var (
		of   metav1.TypeMeta
		list struct{ Items []json.RawMessage }
		set  appsv1.StatefulSet
	)
	known := []string{appsv1.SchemeGroupVersion.String(), slicesapi.GroupVersion.String()}
	_ = json.Unmarshal(document, &of) // a document in another form has no kind
	switch {
	case of.Kind == "StatefulSet" && slices.Contains(known, of.APIVersion):
		err = json.Unmarshal(document, &set)
		return []appsv1.StatefulSet{set}, err
	case !strings.HasSuffix(of.Kind, "List"):
		return nil, nil
	}
	err = json.Unmarshal(document, &list)
	for _, item := range list.Items {
		sets, wrong := statefulSets(item)
		all, err = append(all, sets...), cmp.Or(err, wrong)
	}
	return all, err
}

// snapshotClass is the setting of a snapshot's class in place, where class is the class of the volumes.
const snapshotClass = "snapshot-class"

// readInPlace parses one --volume of a change in place. The method is left open unless it is named.
func readInPlace(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, found := strings.Cut(text, "=")
	if template == "" || !found || rest == "" {
		return command.Usagef("--%s must be %s, not %q", Volume, inPlaceForm, text)
	}
	asked := of(template)
	var settings []string
	for each := range strings.SplitSeq(rest, ",") {
		own, err := readStorage(asked, each)
		if err != nil {
			return command.Usagef("--%s %s: %v", Volume, text, err)
		}
		if !own {
			settings = append(settings, each)
		}
	}
	method := asked.Method
	if method == "" {
		method = api.MethodCopy // the only one with settings that is chosen
	}
	for _, each := range settings {
		word := strings.TrimPrefix(each, "snapshot-")
		if method != api.MethodSnapshot || !strings.HasPrefix(each, snapshotClass+"=") {
			word = each
		}
		flag := methodFlags[method]
		if strings.HasPrefix(each, "size=") || flag.read == nil || !flag.read(asked, word) {
			return command.Usagef("--%s %s: %s", Volume, text, wrongWord(command.Word(method), flag.forms, each))
		}
	}
	return nil
}

// readStorage parses a setting of the template itself. own is false if it may be a setting of the method.
func readStorage(to *api.VolumeSpec, word string) (own bool, err error) {
	key, value, assigned := strings.Cut(word, "=")
	if !assigned {
		key, value = "method", word
		if !slices.Contains(methodsInPlace, word) {
			return false, nil
		}
	}
	switch key {
	case "class":
		to.StorageClassName, err = className(key, value)
	case "attributes":
		to.VolumeAttributesClassName, err = className(key, value)
	case "size":
		if to.Size = quantity(value); to.Size == nil {
			err = fmt.Errorf("size must be a quantity above 0, such as 50Gi, not %q", value)
		}
	case "method":
		at := slices.Index(methodsInPlace, value)
		if at < 0 {
			return true, fmt.Errorf("method must be one of %s, not %q", strings.Join(methodsInPlace, ", "), value)
		}
		to.Method = []api.VolumeMethod{api.MethodRebind, api.MethodCopy, api.MethodSnapshot}[at]
	default:
		return false, nil
	}
	return true, err
}

// methodsInPlace are the methods of a change in place, as words.
var methodsInPlace = []string{command.Word(api.MethodRebind), command.Word(api.MethodCopy), command.Word(api.MethodSnapshot)}

// className returns the name of a class, if it can be one.
func className(key, name string) (*string, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("%s: no class can be called %q: %s", key, name, strings.Join(problems, "; "))
	}
	return &name, nil
}

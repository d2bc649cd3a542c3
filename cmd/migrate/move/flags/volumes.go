package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// methodFlags holds the settings of each method in --volume.
var methodFlags = map[api.VolumeMethod]methodFlag{
	api.MethodRebind:   {},
	api.MethodEmpty:    settingsOf(func(v *api.VolumeSpec) *api.EmptySpec { return &v.Empty }, emptySettings),
	api.MethodCopy:     settingsOf(func(v *api.VolumeSpec) *api.CopySpec { return &v.Copy }, copySettings),
	api.MethodSnapshot: settingsOf(func(v *api.VolumeSpec) *api.SnapshotSpec { return &v.Snapshot }, snapshotSettings),
}

// volumeHelp is the help of --volume.
var volumeHelp = "how the data of a claim template moves, as `TEMPLATE=METHOD` (repeatable): rebind; or empty,WORD,... with what you know of the application: " +
	methodFlags[api.MethodEmpty].forms + "; or copy,image=IMAGE,... with more of " + strings.TrimPrefix(methodFlags[api.MethodCopy].forms, "image=IMAGE, ") +
	"; or snapshot,... with " + methodFlags[api.MethodSnapshot].forms

var emptySettings = []setting[api.EmptySpec]{
	word("fills-from-peers", func(e *api.EmptySpec) *bool { return &e.FillsFromPeers }),
	word("ready-when-filled", func(e *api.EmptySpec) *bool { return &e.ReadyWhenFilled }),
	word("returns-to-kept", func(e *api.EmptySpec) *bool { return &e.ReturnsToKept }).oneWay(),
}

var copySettings = []setting[api.CopySpec]{
	text("image", "IMAGE", func(c *api.CopySpec) *string { return &c.Image }),
	parsed("size", "SIZE", func(c *api.CopySpec) **resource.Quantity { return &c.Size }, quantity, (*resource.Quantity).String).oneWay(),
	choice("transport", func(c *api.CopySpec) *api.CopyTransport { return &c.Transport }, api.TransportAuto, api.TransportAuto, api.TransportDirect, api.TransportRelay),
	choice("service", func(c *api.CopySpec) *corev1.ServiceType { return &c.ServiceType }, "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, api.ServiceTypeExport),
	text("address", "HOST:PORT", func(c *api.CopySpec) *string { return &c.Address }).asForm(),
	parsed("bandwidth", "BYTES", func(c *api.CopySpec) **resource.Quantity { return &c.Bandwidth }, quantity, (*resource.Quantity).String),
	{key: "run-as", form: "USER[:GROUP]", read: readRunAs, back: runAs},
	choice("warm", func(c *api.CopySpec) *api.CopyWarmMode { return &c.Warm }, api.CopyWarmAuto, api.CopyWarmAuto, api.CopyWarmMount, api.CopyWarmSnapshot, api.CopyWarmNone),
	parsed("downtime", "DURATION", func(c *api.CopySpec) **metav1.Duration { return &c.DowntimeBudget }, duration, durationText),
	parsed("limit", "DURATION", func(c *api.CopySpec) **metav1.Duration { return &c.DowntimeLimit }, duration, durationText),
	cutover,
	{key: "prefetch", form: "0..8", read: readPrefetch, back: prefetch},
	choice("verify", func(c *api.CopySpec) *api.CopyVerify { return &c.Verify }, "", api.CopyVerifyFull, api.CopyVerifyChanged, api.CopyVerifyLater),
	{key: "accept", form: "ORDINAL[+ORDINAL]", read: readAccept},
	{key: "devices", form: "refuse|allow", read: readDevices, back: devices},
}

var snapshotSettings = []setting[api.SnapshotSpec]{
	text("class", "VOLUMESNAPSHOTCLASS", func(s *api.SnapshotSpec) *string { return &s.ClassName }).oneWay(),
	parsed("size", "SIZE", func(s *api.SnapshotSpec) **resource.Quantity { return &s.Size }, quantity, (*resource.Quantity).String).oneWay(),
}

// readVolume parses one --volume into the spec of its claim template.
func readVolume(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, _ := strings.Cut(text, "=")
	name, settings, more := strings.Cut(rest, ",")
	for method, flag := range methodFlags {
		if template == "" || command.Word(method) != name {
			continue
		}
		asked := of(template)
		asked.Method = method
		for each := range strings.SplitSeq(settings, ",") {
			if more && (flag.read == nil || !flag.read(asked, each)) {
				return command.Usagef("--%s %s: %s", Volume, text, wrongWord(name, flag.forms, each))
			}
		}
		return nil
	}
	return command.Usagef("--%s must be TEMPLATE=METHOD, with method rebind, empty, copy or snapshot, not %q; with --%s it is %s", Volume, text, InPlace, inPlaceForm)
}

// wrongWord returns why a setting is invalid for a method: it is unknown, or its value is invalid.
func wrongWord(method, known, word string) string {
	if known == "" {
		return fmt.Sprintf("method %s has no settings, and %q was given", method, word)
	}
	key, _, _ := strings.Cut(word, "=")
	for form := range strings.SplitSeq(known, ", ") {
		if strings.HasPrefix(form, key+"=") {
			return fmt.Sprintf("%q does not have the form %s", word, form)
		}
	}
	return fmt.Sprintf("method %s has no setting %q, only: %s", method, word, known)
}

// Back returns the flags of the reverse move for volumes moved with these specs, quoted for a shell: the methods, and
// the settings that hold in both directions. A word in capitals stands for a value that only the user knows, such as the
// storage class of the other side.
func Back(volumes []api.VolumeSpec) []string {
	var words []string
	add := func(given bool, flag, value string) {
		if given {
			words = append(words, "--"+flag, command.Quote(value))
		}
	}
	for _, v := range volumes {
		add(v.Shared, flagShared, v.ClaimTemplate)
		add(v.StorageClassName != nil, StorageClass, v.ClaimTemplate+"=CLASS")
		add(len(v.AccessModes) > 0, flagAccessModes, v.ClaimTemplate+"=MODE")
		if method := methodFlags[v.Method]; method.back != nil {
			add(true, Volume, strings.Join(append([]string{v.ClaimTemplate + "=" + command.Word(v.Method)}, method.back(v)...), ","))
		}
	}
	return words
}

func readRunAs(to *api.CopySpec, value string) bool {
	user, group, both := strings.Cut(value, ":")
	if to.RunAsUser = number(user); both {
		to.RunAsGroup = number(group)
	}
	return to.RunAsUser != nil && (!both || to.RunAsGroup != nil)
}

func runAs(from *api.CopySpec) string {
	switch {
	case from.RunAsUser == nil:
		return ""
	case from.RunAsGroup == nil:
		return strconv.FormatInt(*from.RunAsUser, 10)
	}
	return fmt.Sprintf("%d:%d", *from.RunAsUser, *from.RunAsGroup)
}

// cutover is a word or a time (RFC 3339). The way back has its own.
var cutover = func() setting[api.CopySpec] {
	c := choice("cutover", func(c *api.CopySpec) *api.CopyCutover { return &c.Cutover }, "", api.CutoverAutomatic, api.CutoverManual, api.CutoverNow).oneWay()
	readWord := c.read
	c.form += "|2026-12-01T02:00:00Z"
	c.read = func(to *api.CopySpec, value string) bool {
		if readWord(to, value) {
			return true
		}
		at, err := time.Parse(time.RFC3339, value)
		to.Cutover, to.CutoverAt = api.CutoverAt, new(metav1.NewTime(at))
		return err == nil
	}
	return c
}()

// mostPrefetch is also the limit of copy.prefetch in the resource definition. Pods and disks of all prefetched ordinals
// exist at the same time.
const mostPrefetch = 8

func readPrefetch(to *api.CopySpec, value string) bool {
	ordinals, err := strconv.ParseInt(value, 10, 32)
	to.Prefetch = int32(ordinals)
	return err == nil && 0 <= ordinals && ordinals <= mostPrefetch
}

func prefetch(from *api.CopySpec) string {
	if from.Prefetch == 0 {
		return ""
	}
	return strconv.Itoa(int(from.Prefetch))
}

// readAccept parses the ordinals that may go on with a copy that is not proven. The way back has its own copies.
func readAccept(to *api.CopySpec, value string) bool {
	for each := range strings.SplitSeq(value, "+") {
		ordinal, err := strconv.ParseInt(each, 10, 32)
		if err != nil || ordinal < 0 {
			return false
		}
		if !slices.Contains(to.AcceptDiffering, int32(ordinal)) {
			to.AcceptDiffering = append(to.AcceptDiffering, int32(ordinal))
		}
	}
	return true
}

func readDevices(to *api.CopySpec, value string) bool {
	to.Devices = value == "allow"
	return to.Devices || value == "refuse"
}

func devices(from *api.CopySpec) string { return map[bool]string{true: "allow"}[from.Devices] }

// quantity parses a quantity. It returns nil if the quantity is invalid or not above 0.
func quantity(text string) *resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return nil
	}
	return &q
}

// duration parses a duration. It returns nil if the duration is invalid or not above 0.
func duration(text string) *metav1.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

func durationText(d *metav1.Duration) string { return d.Duration.String() }

func number(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

package flags

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/pdb"
)

// value is a flag that sets a field of the API.
type value[T any] struct {
	field *T
	// kind is the type of the flag, and standard its default, as the help shows them.
	kind, standard string
	read           func(text string) (T, error)
}

// String implements pflag.Value.
func (v value[T]) String() string { return v.standard }

// Type implements pflag.Value.
func (v value[T]) Type() string { return v.kind }

// Set implements pflag.Value.
func (v value[T]) Set(text string) error {
	read, err := v.read(text)
	if err == nil {
		*v.field = read
	}
	return err
}

// countOf returns the flag of a number of ordinals.
func countOf(field **int32) value[*int32] {
	return value[*int32]{field, "int32", "", func(text string) (*int32, error) {
		count, err := strconv.ParseInt(text, 0, 32)
		if err == nil && count < 1 {
			err = command.Usagef("--%s must be at least 1, not %d", Count, count)
		}
		return new(int32(count)), err
	}}
}

// budgetOf returns the flag of a disruption budget. An empty text means that of the PodDisruptionBudget.
func budgetOf(field **intstr.IntOrString) value[*intstr.IntOrString] {
	return value[*intstr.IntOrString]{field, "string", "", func(text string) (*intstr.IntOrString, error) {
		if text == "" {
			return nil, nil //nolint:nilnil // nil is the API's "from the PodDisruptionBudget"
		}
		budget := intstr.Parse(text)
		const many = 100 // any number of replicas, because only the syntax is checked
		if allowed, err := pdb.Budget(pdb.Form{MaxUnavailable: &budget}, many); err != nil || allowed < 1 {
			return nil, command.Usagef("--%s must be a number of at least 1 or a percentage from 1%% to 100%%, not %q", flagMaxUnavailable, text)
		}
		return &budget, nil
	}}
}

// inFlightOf returns the flag for how many ordinals move at once. An empty text means one.
func inFlightOf(field **intstr.IntOrString) value[*intstr.IntOrString] {
	return value[*intstr.IntOrString]{field, "string", "", func(text string) (*intstr.IntOrString, error) {
		if text == "" {
			return nil, nil //nolint:nilnil // nil is the API's default
		}
		number := intstr.Parse(text)
		const many = 100 // any number of replicas, because only the syntax is checked
		n, err := intstr.GetScaledValueFromIntOrPercent(&number, many, false)
		if most := map[intstr.Type]int{intstr.Int: api.MostInFlight, intstr.String: many}[number.Type]; err != nil || n < 1 || n > most {
			return nil, command.Usagef("--%s must be a number from 1 to %d or a percentage from 1%% to 100%%, not %q", flagMaxInFlight, api.MostInFlight, text)
		}
		return &number, nil
	}}
}

// Limits of the API, in seconds.
const (
	longestMinReady = 86400
	longestDeadline = 604800
)

// secondsOf returns the flag of a duration that the API has in whole seconds. It is rounded up.
func secondsOf(field **int32, flag string, least, most int32) value[*int32] {
	standard := ""
	if *field != nil && **field > 0 {
		standard = inSeconds(**field).String()
	}
	return value[*int32]{field, "duration", standard, func(text string) (*int32, error) {
		given, err := time.ParseDuration(text)
		rounded := math.Ceil(given.Seconds())
		if err == nil && (rounded < float64(least) || rounded > float64(most)) {
			err = command.Usagef("--%s must be from %s to %s, not %s", flag, inSeconds(least), inSeconds(most), given)
		}
		return new(int32(rounded)), err
	}}
}

func inSeconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// gatesFile and hooksFile are files with a list of the API.
type (
	gatesFile struct {
		Gates *[]api.HealthGate `json:"gates"`
	}
	hooksFile struct {
		Hooks *[]api.Hook `json:"hooks"`
	}
)

// readFile reads the list in the file of a flag, which has the name of its field. An empty path has no list.
func readFile(flag, path string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return command.Usagef("--%s: %s does not hold `%s:` with a list of %s: %v", flag, path, flag, map[string]string{flagGates: "health gates", flagHooks: "hooks"}[flag], err)
	}
	return nil
}

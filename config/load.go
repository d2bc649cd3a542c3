package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Load reads the configuration from the file at path (if it is not empty), then the environment, then the flags that
// were set. It returns a valid configuration, or an error that lists every problem of the first category with problems:
// the file's form, types, then ranges. It ignores flags that AddFlags did not add.
func Load(flags *pflag.FlagSet, path string) (Config, error) {
	in := input{viper: viper.New(), flags: flags, path: path}
	if err := in.bind(); err != nil {
		return Config{}, err
	}
	if err := in.readFile(); err != nil {
		return Config{}, err
	}
	var c Config
	err := in.viper.UnmarshalExact(&c, viper.DecodeHook(convert), func(d *mapstructure.DecoderConfig) {
		d.WeaklyTypedInput = false
	})
	if err != nil {
		return Config{}, in.explain(err)
	}
	if problems := c.Validate(); len(problems) > 0 {
		return Config{}, fmt.Errorf("invalid configuration: %w", problems.ToAggregate())
	}
	return c, nil
}

// input holds the sources of settings.
type input struct {
	viper *viper.Viper
	flags *pflag.FlagSet
	path  string
	// inFile holds the keys that the file sets.
	inFile map[string]bool
}

// bind registers the default, variable and flag of every setting with viper. It binds each of them, because viper's
// automatic environment does not reach keys that have no other source.
func (in *input) bind() error {
	defaults := Default()
	for _, s := range settings() {
		in.viper.SetDefault(s.key, reflect.ValueOf(s.field(&defaults)).Elem().Interface())
		if err := in.viper.BindEnv(s.key, s.env()); err != nil {
			return fmt.Errorf("bind variable %s: %w", s.env(), err)
		}
		flag := in.flag(s)
		if flag == nil {
			continue
		}
		if err := in.viper.BindPFlag(s.key, flag); err != nil {
			return fmt.Errorf("bind flag --%s: %w", s.flag(), err)
		}
	}
	return nil
}

func (in *input) flag(s setting) *pflag.Flag {
	if in.flags == nil {
		return nil
	}
	return in.flags.Lookup(s.flag())
}

// explain turns decoding errors into one line each: the source of the value, its key, and the problem.
func (in *input) explain(err error) error {
	var lines []error
	for _, one := range decodeErrors(err) {
		lines = append(lines, fmt.Errorf("%s: %s: %w", in.origin(one.Name()), one.Name(), one.Unwrap()))
	}
	if len(lines) == 0 {
		return fmt.Errorf("decode configuration: %w", err)
	}
	return errors.Join(lines...)
}

// origin returns the source of the value of a key, in the order of precedence.
func (in *input) origin(key string) string {
	for _, s := range settings() {
		if s.key != key {
			continue
		}
		if flag := in.flag(s); flag != nil && flag.Changed {
			return "flag --" + s.flag()
		}
		if os.Getenv(s.env()) != "" {
			return "environment variable " + s.env()
		}
	}
	if in.inFile[key] {
		return "file " + in.path
	}
	return "configuration"
}

// decodeErrors returns the innermost errors of a decoding, in order.
func decodeErrors(err error) []*mapstructure.DecodeError {
	switch e := err.(type) { //nolint:errorlint // the tree itself is walked here
	case *mapstructure.DecodeError:
		if inner := decodeErrors(e.Unwrap()); len(inner) > 0 {
			return inner
		}
		return []*mapstructure.DecodeError{e}
	case interface{ Unwrap() []error }:
		var all []*mapstructure.DecodeError
		for _, one := range e.Unwrap() {
			all = append(all, decodeErrors(one)...)
		}
		return all
	case interface{ Unwrap() error }:
		return decodeErrors(e.Unwrap())
	default:
		return nil
	}
}

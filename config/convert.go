package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// convert is the decode hook. It converts the strings of environment variables and flags to numbers, booleans and
// durations, and rejects every lossy conversion. Without it mapstructure truncates 2.5 to 2 and reads a duration of 15
// as nanoseconds.
func convert(from, to reflect.Value) (any, error) {
	if to.Type() == durationType {
		return toDuration(from)
	}
	switch to.Kind() {
	case reflect.Int:
		return toInt(from)
	case reflect.Float32:
		return toFloat(from)
	case reflect.Bool:
		return toBool(from)
	case reflect.Slice:
		return toList(from)
	case reflect.String:
		if from.Kind() != reflect.String {
			return nil, fmt.Errorf(`must be text, not %v: put it in quotes`, from.Interface())
		}
	default:
	}
	return from.Interface(), nil
}

func toDuration(from reflect.Value) (any, error) {
	if from.Type() == durationType {
		return from.Interface(), nil
	}
	if from.Kind() == reflect.String {
		if d, err := time.ParseDuration(from.String()); err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf(`must be a duration with its unit, such as "15s", not %#v`, from.Interface())
}

func toInt(from reflect.Value) (any, error) {
	switch {
	case from.CanInt() && from.Type() != durationType:
		return from.Interface(), nil
	case from.Kind() == reflect.String:
		n, err := strconv.Atoi(from.String())
		if err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("must be a whole number, not %#v", from.Interface())
}

func toFloat(from reflect.Value) (any, error) {
	switch {
	case from.CanInt(), from.CanFloat():
		return from.Interface(), nil
	case from.Kind() == reflect.String:
		f, err := strconv.ParseFloat(from.String(), 32)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return f, nil // Validate rejects values out of range
		}
	}
	return nil, fmt.Errorf("must be a number, not %#v", from.Interface())
}

// toList parses "a,b", the form of flags and variables, and a list, the form of files.
func toList(from reflect.Value) (any, error) {
	switch {
	case from.Kind() == reflect.Slice:
		return from.Interface(), nil
	case from.Kind() == reflect.String && from.String() == "":
		return []string{}, nil
	case from.Kind() == reflect.String:
		return strings.Split(from.String(), ","), nil
	}
	return nil, fmt.Errorf("must be a list of names, not %#v", from.Interface())
}

func toBool(from reflect.Value) (any, error) {
	switch from.Kind() {
	case reflect.Bool:
		return from.Interface(), nil
	case reflect.String:
		b, err := strconv.ParseBool(from.String())
		if err == nil {
			return b, nil
		}
	default:
	}
	return nil, fmt.Errorf("must be true or false, not %#v", from.Interface())
}
